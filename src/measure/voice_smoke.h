// Whether a build of libelizainference speaks: loaded as programs load it, on a bundle, with a cancel where
// one is wanted.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/json.h"

namespace parlance {

enum class CancelMode {
  none,
  before,  // the call: it ends as soon as it has begun
  during,  // it, from another thread, halfway to its first sound
  after,   // it has ended: the next one is as good as the first
};

std::optional<CancelMode> cancel_mode_from_name(std::string_view name);
std::string_view name_of(CancelMode mode);

struct VoiceSmokeOptions {
  std::filesystem::path library;
  std::string bundle;
  std::string text = "What is the capital of France?";
  std::string voice = "default";
  CancelMode cancel_mode = CancelMode::none;
  // What the library's environment variables say in place of what they say now.
  std::optional<int64_t> maskgit_steps;
  std::optional<double> chunk_threshold_seconds, chunk_duration_seconds;
  int n_warm_up = 1;
};

// What came of a cancel.
struct SmokeCancel {
  int status = 0;           // of the call that was cancelled, or of the one after
  double requested_ms = 0;  // after its begin
  double latency_ms = 0;    // from the request, or the begin where that came first, to its end
  int64_t n_chunks = 0;     // that came nevertheless
};

// What came of it, of the last utterance that nobody cancelled where none is named. Times in milliseconds.
struct VoiceSmoke {
  std::string error;  // what went wrong first; empty: all is as it should be
  std::string abi_version;
  double create_ms = 0, acquire_ms = 0;

  std::optional<double> first_audio_ms;  // of the whole utterance
  double total_ms = 0;
  int64_t n_samples = 0;  // at 24,000 Hz
  int64_t n_chunks = 0;
  int64_t first_chunk_samples = 0, largest_chunk_samples = 0;
  bool has_spoken = false;  // to its end, with sound that is one

  std::optional<SmokeCancel> cancel;

  double seconds() const { return static_cast<double>(n_samples) / 24000; }
  double real_time_factor() const { return n_samples > 0 ? total_ms / 1e3 / seconds() : 0; }
  bool has_passed() const { return error.empty(); }
};

VoiceSmoke run_voice_smoke(const VoiceSmokeOptions& options);

// The report, of a failure too.
Json to_json(const VoiceSmokeOptions& options, const VoiceSmoke& smoke);

}  // namespace parlance
