// What a context is: the models of one folder, and what its calls share.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "assistant/regions.h"
#include "base/cancellation.h"
#include "capi/answer.h"
#include "capi/arguments.h"
#include "capi/handles.h"
#include "capi/knobs.h"
#include "elizainference.h"
#include "tokenizer/tokenizer.h"

namespace parlance::capi {

// Cancels that come from threads which cannot know whether the work has begun: where nothing is under way,
// what begins soon afterwards is meant. From any thread.
class EarlyCancellation {
 public:
  static constexpr std::chrono::milliseconds kSoon{200};

  // For work that begins, as long as the guard lives.
  class Work {
   public:
    explicit Work(EarlyCancellation& owner);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    const Cancellation& ticket() const { return ticket_; }

   private:
    EarlyCancellation& owner_;
    Cancellation ticket_;
  };

  void cancel();

 private:
  const CancellationSource source_;
  std::mutex mutex_;  // of what follows
  int n_at_work_ = 0;
  std::optional<std::chrono::steady_clock::time_point> early_;
};

struct VerifierListener {
  eliza_verifier_cb tell = nullptr;
  void* user_data = nullptr;
};

// Where the language model's layers and its cache are, as an answer's options may want them otherwise.
struct TextPlacement {
  std::string drafter;  // a file; empty: the bundle's
  std::optional<int64_t> n_gpu_layers;
  KvFormat k = KvFormat::f16, v = KvFormat::f16;

  auto key() const { return std::tie(drafter, n_gpu_layers, k, v); }
  bool operator<(const TextPlacement& other) const { return key() < other.key(); }
};

// From any thread.
class BundleContext {
 public:
  static constexpr HandleKind kKind = HandleKind::context;

  // Errors: no such folder; a manifest that cannot be read; an environment variable that makes no sense.
  static Answer<std::shared_ptr<BundleContext>> create(const std::filesystem::path& folder);
  BundleContext(Choice choice, Knobs knobs) : knobs_(std::move(knobs)), regions_(std::move(choice)) {}

  const Knobs& knobs() const { return knobs_; }

  Answer<void> acquire(std::string_view region);
  Answer<void> evict(std::string_view region);

  // A region that callers acquire; the refusal says how.
  Answer<std::shared_ptr<AsrRegion>> asr() const;
  Answer<std::shared_ptr<TtsRegion>> tts() const;
  // One that is loaded when it is first used.
  Answer<std::shared_ptr<TextRegion>> text(const TextPlacement& placement = {});
  Answer<std::shared_ptr<VadRegion>> vad();
  Answer<std::shared_ptr<AlignerRegion>> aligner();
  // Of a file, else the bundle's.
  Answer<std::shared_ptr<SpeakerRegion>> speaker(const std::string& file);
  // The language model's, for which it need not be loaded.
  Answer<std::shared_ptr<const Tokenizer>> vocabulary();

  EarlyCancellation& speech_cancellation() { return speech_cancellation_; }

  void set_listener(VerifierListener listener);
  VerifierListener listener() const;

  // Speech that its caller had no room for, until another text is spoken.
  struct UnheardSpeech {
    std::string text, voice;
    std::vector<float> samples;
  };
  std::optional<std::vector<float>> take_unheard(std::string_view text, std::string_view voice);
  void keep_unheard(UnheardSpeech speech);

 private:
  Answer<void> check_speech_files() const;

  const Knobs knobs_;
  Regions regions_;
  EarlyCancellation speech_cancellation_;

  mutable std::mutex mutex_;                                  // of what follows
  std::map<TextPlacement, std::unique_ptr<Regions>> placed_;  // other than in regions_
  std::shared_ptr<const Tokenizer> vocabulary_;
  VerifierListener listener_;
  std::optional<UnheardSpeech> unheard_;
};

inline Answer<std::shared_ptr<BundleContext>> context_of(const EliInferenceContext* ctx) {
  return object_of<BundleContext>("ctx", ctx);
}

}  // namespace parlance::capi
