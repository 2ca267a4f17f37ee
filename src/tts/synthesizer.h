// Speech synthesis: text to sound, at once or as it is computed. Of requests of several threads two are done
// at a time where the device has threads that they can share (right_of_way.h), else one; others wait.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "tts/audio/reference_audio.h"
#include "tts/code_generator.h"
#include "tts/files/phrase_cache.h"
#include "tts/files/reference_cache.h"
#include "tts/pace_check.h"
#include "tts/speech_codec.h"
#include "tts/speech_request.h"
#include "tts/tts_model.h"

namespace parlance {

struct SynthesizerOptions {
  std::optional<std::filesystem::path> reference_folder = {};  // keeps encoded references over restarts
  std::optional<std::filesystem::path> hidden_folder = {};     // keeps hidden ones
  size_t n_phrases = 0;  // short texts whose sound is kept, for requests that differ in nothing
};

class Synthesizer {
 public:
  // The model must outlive the synthesizer.
  explicit Synthesizer(const TtsModel& model, const SynthesizerOptions& options = {});

  // The whole speech. Errors: a voice that the model does not know; no sound; options out of range; memory;
  // cancelled.
  Result<Speech> synthesize(const SpeechRequest& request);

  // The same while it is computed, part by part; the next chunk is begun when the sound of the one before has
  // been handed out. Errors are the same but for no sound, and come after the last call of `on_speech`.
  Result<SpeechReport> stream(const SpeechRequest& request, const OnSpeech& on_speech);

  // The voice of a recording at kSpeechRateHz in which `text` is said: 3 to 10 seconds are best. Recordings
  // that were encoded before come from the cache. Where silences stay as they are, so does the text. Errors:
  // nothing to be heard; samples that are no finite numbers; longer than kMostReferenceSeconds; memory;
  // cancelled.
  Result<Voice> encode_voice(std::span<const float> samples, std::string_view text,
                             ReferencePreparation preparation = {}, Cancellation cancellation = {});
  static constexpr int kMostReferenceSeconds = 60;

  // Takes `samples` for what the request's text sounds like, whole or streamed: phrases that come with a
  // voice. Kept as far as SynthesizerOptions::n_phrases goes.
  void remember(const SpeechRequest& request, std::span<const float> samples);

  CodeFormat code_format() const;
  // Requests that are done at a time.
  int n_at_once() const { return n_at_once_; }

 private:
  // What one request computes with.
  struct Lane {
    explicit Lane(const TtsModel& model)
        : generator(model.lm(), model.tokenizer(), model.device()),
          codec(model.codec(), model.codec_device()) {}

    CodeGenerator generator;
    SpeechCodec codec;
  };
  // A lane that nobody else has; waits for it.
  class OwnLane {
   public:
    explicit OwnLane(Synthesizer& owner);
    ~OwnLane();
    OwnLane(const OwnLane&) = delete;
    OwnLane& operator=(const OwnLane&) = delete;
    Lane& operator*() const { return *lane_; }

   private:
    Synthesizer& owner_;
    std::unique_ptr<Lane> lane_;
  };

  // Sound of a chunk, window after window; the first one begins the chunk. False ends the request.
  using OnWindow = FunctionRef<bool(std::span<const float>, bool is_first)>;

  Result<std::vector<std::string>> texts_of(const SpeechRequest& request, const Pace& pace) const;
  Result<void> speak(Lane& lane, const SpeechRequest& request, int64_t first_window, SpeechReport& report,
                     OnWindow on_window);
  // How far the sound of a chunk is decoded.
  struct Decoding {
    int64_t first_window = 0;  // frames
    int64_t n_done = 0;
    double seconds = 0;  // that it took
  };
  Result<void> decode(Lane& lane, const AudioCodes& codes, int64_t n_known, Decoding& state,
                      const Cancellation& cancellation, OnWindow on_window);
  Result<void> speak_at_once(Lane& lane, const CodeRequest& request, int64_t first_window,
                             uint64_t& noise_calls, const CodeGenerator::OnStep& on_step, SpokenChunk& chunk,
                             const Cancellation& cancellation, OnWindow on_window);
  Result<void> speak_at_pace(Lane& lane, CodeRequest request, PaceCheck& check, int n_syllables,
                             uint64_t& noise_calls, const CodeGenerator::OnStep& on_step, SpokenChunk& chunk,
                             const Cancellation& cancellation, OnWindow on_window);
  bool needs_hidden_voice(const SpeechRequest& request) const;
  Result<EncodedReference> hidden_voice(Lane& lane, const SpeechRequest& request, const std::string& design);
  Result<EncodedReference> encode(std::span<const float> samples, const ReferencePreparation& preparation,
                                  const Cancellation& cancellation);

  const TtsModel& model_;
  const int n_at_once_;
  PhraseCache phrases_;

  std::mutex lanes_mutex_;  // of what follows
  std::condition_variable has_lane_;
  std::vector<std::unique_ptr<Lane>> free_;
  int n_made_ = 0;  // lanes, which are made when they are first wanted

  ReferenceCache hidden_;
  std::mutex references_mutex_;  // of what follows
  ReferenceCache references_;
};

}  // namespace parlance
