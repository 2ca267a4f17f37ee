#include "measure/voice_smoke.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "base/os/environment.h"
#include "base/os/environment_variable.h"
#include "base/os/shared_library.h"
#include "elizainference.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

using SmokeClock = std::chrono::steady_clock;

constexpr std::array<std::string_view, 4> kModes = {"none", "before", "during", "after"};

// After that a cancel is forgotten which came when nothing was under way.
constexpr std::chrono::milliseconds kForgotten{300};

double ms_since(SmokeClock::time_point start) {
  return std::chrono::duration<double, std::milli>(SmokeClock::now() - start).count();
}

// The functions of the library that are called here.
struct Functions {
  decltype(&eliza_inference_abi_version) abi_version;
  decltype(&eliza_inference_create) create;
  decltype(&eliza_inference_destroy) destroy;
  decltype(&eliza_inference_mmap_acquire) acquire;
  decltype(&eliza_inference_mmap_evict) evict;
  decltype(&eliza_inference_tts_stream_supported) stream_supported;
  decltype(&eliza_inference_tts_synthesize_stream) stream;
  decltype(&eliza_inference_cancel_tts) cancel;
  decltype(&eliza_inference_free_string) free_string;
};

template <class Function>
Result<void> bind(const SharedLibrary& library, const fs::path& path, const char* name, Function*& function) {
  function = library.find<Function>(name);
  if (function) return {};
  return fail(ErrorCode::unsupported, "{}: it has no {}; name a libelizainference", path.string(), name);
}

Result<Functions> functions_of(const SharedLibrary& library, const fs::path& path) {
  Functions f = {};
  PARLANCE_CHECK(bind(library, path, "eliza_inference_abi_version", f.abi_version));
  PARLANCE_CHECK(bind(library, path, "eliza_inference_create", f.create));
  PARLANCE_CHECK(bind(library, path, "eliza_inference_destroy", f.destroy));
  PARLANCE_CHECK(bind(library, path, "eliza_inference_mmap_acquire", f.acquire));
  PARLANCE_CHECK(bind(library, path, "eliza_inference_mmap_evict", f.evict));
  PARLANCE_CHECK(bind(library, path, "eliza_inference_tts_stream_supported", f.stream_supported));
  PARLANCE_CHECK(bind(library, path, "eliza_inference_tts_synthesize_stream", f.stream));
  PARLANCE_CHECK(bind(library, path, "eliza_inference_cancel_tts", f.cancel));
  PARLANCE_CHECK(bind(library, path, "eliza_inference_free_string", f.free_string));
  return f;
}

// One call, as its callback was told.
struct Utterance {
  SmokeClock::time_point begin;
  int status = 0;
  std::string error;
  double total_ms = 0;
  std::optional<double> first_audio_ms;
  std::vector<float> samples;
  std::vector<int64_t> chunks;  // their samples
  int n_finals = 0;
  bool is_orderly = true;  // chunks have samples, and the last call has none

  static int take(const float* pcm, size_t n, int is_final, void* user_data) {
    auto& own = *static_cast<Utterance*>(user_data);
    own.is_orderly = own.is_orderly && own.n_finals == 0 && (is_final != 0) == (n == 0);
    own.n_finals += is_final != 0;
    if (n == 0) return 0;
    if (!own.first_audio_ms) own.first_audio_ms = ms_since(own.begin);
    own.samples.insert(own.samples.end(), pcm, pcm + n);
    own.chunks.push_back(static_cast<int64_t>(n));
    return 0;
  }
};

// The library on a bundle.
class Mouth {
 public:
  Mouth(const Functions& functions, const VoiceSmokeOptions& options) : f_(functions), options_(options) {}
  ~Mouth() {
    if (ctx_) f_.destroy(ctx_);
  }
  Mouth(const Mouth&) = delete;
  Mouth& operator=(const Mouth&) = delete;

  Result<void> open(VoiceSmoke& smoke) {
    if (f_.stream_supported() != 1)
      return fail(ErrorCode::unsupported, "the library says that it does not stream speech");
    auto start = SmokeClock::now();
    char* error = nullptr;
    ctx_ = f_.create(options_.bundle.c_str(), &error);
    smoke.create_ms = ms_since(start);
    if (!ctx_) return fail(ErrorCode::not_found, "create: {}", taken(error));
    start = SmokeClock::now();
    const int status = f_.acquire(ctx_, "tts", &error);
    smoke.acquire_ms = ms_since(start);
    if (status == ELIZA_OK) return {};
    return fail(ErrorCode::not_found, "acquire tts: {} ({})", taken(error), status);
  }

  Utterance speak() const {
    Utterance said;
    char* error = nullptr;
    said.begin = SmokeClock::now();
    said.status = f_.stream(ctx_, options_.text.c_str(), options_.text.size(), options_.voice.c_str(),
                            &Utterance::take, &said, &error);
    said.total_ms = ms_since(said.begin);
    said.error = taken(error);
    return said;
  }

  Result<void> cancel() const {
    char* error = nullptr;
    const int status = f_.cancel(ctx_, &error);
    if (status == ELIZA_OK) return {};
    return fail(ErrorCode::device_failed, "cancel: {} ({})", taken(error), status);
  }

  Result<void> close() {
    char* error = nullptr;
    const int status = f_.evict(ctx_, "tts", &error);
    if (status == ELIZA_OK) return {};
    return fail(ErrorCode::device_failed, "evict tts: {} ({})", taken(error), status);
  }

 private:
  std::string taken(char*& error) const {
    std::string text = error ? error : "no reason given";
    f_.free_string(error);
    error = nullptr;
    return text;
  }

  const Functions f_;
  const VoiceSmokeOptions& options_;
  EliInferenceContext* ctx_ = nullptr;
};

Result<void> check_whole(const Utterance& said) {
  if (said.status != ELIZA_OK)
    return fail(ErrorCode::device_failed, "the speech ended with {}: {}", said.status, said.error);
  if (said.n_finals != 1 || !said.is_orderly) {
    return fail(ErrorCode::device_failed,
                "the speech came with {} last calls; expected one, behind all chunks and without samples",
                said.n_finals);
  }
  const bool is_finite = std::ranges::all_of(said.samples, [](float x) { return std::isfinite(x); });
  const bool is_heard = std::ranges::any_of(said.samples, [](float x) { return std::abs(x) > 0.01f; });
  if (is_finite && is_heard) return {};
  return fail(ErrorCode::device_failed, "{}",
              said.samples.empty() ? "no sound came"
              : is_finite          ? "what came is silence"
                                   : "samples are no finite numbers");
}

Result<void> check_cancelled(const Utterance& said) {
  if (said.status != ELIZA_ERR_CANCELLED) {
    return fail(ErrorCode::device_failed, "the cancelled speech ended with {}; expected {} (cancelled)",
                said.status, ELIZA_ERR_CANCELLED);
  }
  if (said.n_finals == 1 && said.is_orderly) return {};
  return fail(ErrorCode::device_failed,
              "the cancelled speech came with {} last calls; expected one, behind all else", said.n_finals);
}

void note_whole(const Utterance& said, VoiceSmoke& smoke) {
  smoke.first_audio_ms = said.first_audio_ms;
  smoke.total_ms = said.total_ms;
  smoke.n_samples = std::ssize(said.samples);
  smoke.n_chunks = std::ssize(said.chunks);
  if (said.chunks.empty()) return;
  smoke.first_chunk_samples = said.chunks.front();
  smoke.largest_chunk_samples = std::ranges::max(said.chunks);
}

// Cancels as it is wanted; `whole` is what would be said without.
Result<void> cancel_speech(const Mouth& mouth, const VoiceSmokeOptions& options, const Utterance& whole,
                           VoiceSmoke& smoke) {
  SmokeCancel& cancel = smoke.cancel.emplace();
  const double first_ms = whole.first_audio_ms.value_or(whole.total_ms);
  Result<void> asked;
  SmokeClock::time_point at;
  Utterance said;
  if (options.cancel_mode == CancelMode::during) {
    const auto begin = SmokeClock::now();
    std::thread other([&] {
      std::this_thread::sleep_until(begin + std::chrono::duration<double, std::milli>(first_ms / 2));
      at = SmokeClock::now();
      asked = mouth.cancel();
    });
    said = mouth.speak();
    other.join();
  } else {
    at = SmokeClock::now();
    asked = mouth.cancel();
    if (options.cancel_mode == CancelMode::after) std::this_thread::sleep_for(kForgotten);
    said = mouth.speak();
  }
  const auto ms_between_begin_and = [&](SmokeClock::time_point time) {
    return std::chrono::duration<double, std::milli>(time - said.begin).count();
  };
  cancel.status = said.status;
  cancel.requested_ms = ms_between_begin_and(at);
  cancel.n_chunks = std::ssize(said.chunks);
  PARLANCE_CHECK(asked);
  if (options.cancel_mode == CancelMode::after) {
    PARLANCE_CHECK(check_whole(said));
    if (said.samples == whole.samples) return {};
    return fail(ErrorCode::device_failed, "after a cancel the same text sounds otherwise");
  }
  cancel.latency_ms = said.total_ms - std::max(cancel.requested_ms, 0.0);
  return check_cancelled(said);
}

Result<void> try_out(const VoiceSmokeOptions& options, VoiceSmoke& smoke) {
  PARLANCE_TRY(const SharedLibrary library, SharedLibrary::load(options.library));
  PARLANCE_TRY(const Functions functions, functions_of(library, options.library));
  smoke.abi_version = functions.abi_version();
  Mouth mouth(functions, options);
  PARLANCE_CHECK(mouth.open(smoke));
  for (int i = 0; i < options.n_warm_up; ++i) PARLANCE_CHECK(check_whole(mouth.speak()));
  const Utterance whole = mouth.speak();
  note_whole(whole, smoke);
  PARLANCE_CHECK(check_whole(whole));
  smoke.has_spoken = true;
  if (options.cancel_mode != CancelMode::none) PARLANCE_CHECK(cancel_speech(mouth, options, whole, smoke));
  return mouth.close();
}

// Where each part of the synthesizer has computed, by what the environment asked for: there is no other
// fallback, since a device that lacks a kernel is an error.
Json policy_of(const VoiceSmoke& smoke, const std::string& device) {
  const bool is_codec_apart = device != "cpu" && environment("ELIZA_OMNIVOICE_CODEC_BACKEND") == "cpu";
  const auto state = [&](bool is_apart) {
    return !smoke.has_spoken ? "not-run" : is_apart ? "intentional-cpu-fallback" : "pass";
  };
  return Json::object({{"speechModel", state(false)}, {"codec", state(is_codec_apart)}});
}

}  // namespace

std::optional<CancelMode> cancel_mode_from_name(std::string_view name) {
  const auto found = std::ranges::find(kModes, name);
  if (found == kModes.end()) return std::nullopt;
  return static_cast<CancelMode>(found - kModes.begin());
}

std::string_view name_of(CancelMode mode) {
  return kModes[static_cast<size_t>(mode)];
}

VoiceSmoke run_voice_smoke(const VoiceSmokeOptions& options) {
  std::vector<std::unique_ptr<EnvironmentVariable>> variables;
  const auto set = [&](const char* name, const auto& value) {
    if (value) variables.push_back(std::make_unique<EnvironmentVariable>(name, fmt::format("{}", *value)));
  };
  set("ELIZA_TTS_MASKGIT_STEPS", options.maskgit_steps);
  set("ELIZA_TTS_CHUNK_THRESHOLD_SEC", options.chunk_threshold_seconds);
  set("ELIZA_TTS_CHUNK_DURATION_SEC", options.chunk_duration_seconds);
  VoiceSmoke smoke;
  if (const Result<void> done = try_out(options, smoke); !done) smoke.error = done.error().message;
  return smoke;
}

Json to_json(const VoiceSmokeOptions& options, const VoiceSmoke& smoke) {
  const std::string device = environment("ELIZA_DEVICE").value_or("cpu");
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  Json json = Json::object({{"ok", smoke.has_passed()},
                            {"error", smoke.has_passed() ? Json() : Json(smoke.error)},
                            {"library", options.library.string()},
                            {"abiVersion", smoke.abi_version},
                            {"bundle", options.bundle},
                            {"device", device},
                            {"codecBackendPolicy", policy_of(smoke, device)},
                            {"text", options.text},
                            {"speakerPreset", options.voice},
                            {"maskgitSteps", or_null(options.maskgit_steps)},
                            {"chunkThresholdSec", or_null(options.chunk_threshold_seconds)},
                            {"chunkDurationSec", or_null(options.chunk_duration_seconds)},
                            {"warmupRuns", options.n_warm_up},
                            {"createMs", smoke.create_ms},
                            {"acquireMs", smoke.acquire_ms},
                            {"firstAudioMs", or_null(smoke.first_audio_ms)},
                            {"totalMs", smoke.total_ms},
                            {"audioSeconds", smoke.seconds()},
                            {"rtf", smoke.real_time_factor()},
                            {"sampleRateHz", 24000},
                            {"samples", smoke.n_samples},
                            {"chunks", smoke.n_chunks},
                            {"firstChunkSamples", smoke.first_chunk_samples},
                            {"largestChunkSamples", smoke.largest_chunk_samples},
                            {"cancelMode", std::string(name_of(options.cancel_mode))}});
  if (!smoke.cancel) return json;
  const SmokeCancel& cancel = *smoke.cancel;
  json.set("cancel", Json::object({{"status", cancel.status},
                                   {"requestedMs", cancel.requested_ms},
                                   {"latencyMs", cancel.latency_ms},
                                   {"chunks", cancel.n_chunks}}));
  return json;
}

}  // namespace parlance
