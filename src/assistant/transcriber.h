// Sound to text: recordings as a whole, and sound of any rate while it comes, in stretches of speech.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assistant/voice_regions.h"
#include "audio/resampler.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "vad/speech_detector.h"
#include "vad/speech_segments.h"

namespace parlance {

// A stretch of speech.
struct HeardSegment {
  double start_s = 0, end_s = 0;
  Transcript transcript;
  bool is_complete = true;            // else the limit on tokens cut it off
  std::vector<TimedWord> words = {};  // in the recording's time; only where they were asked for
};

struct Heard {
  std::vector<HeardSegment> segments;
  Transcript transcript;  // of all of them
  double audio_s = 0;
  AsrTokens n_tokens = {};
  std::optional<double> processing_s;  // none where the speaker's pace decided
};

// The transcript of stretches of speech that were recognised each by itself: a space between them, except in
// scripts that have none.
Transcript join_segments(std::span<const HeardSegment> segments);

// Of samples at the rate of recogniser and detector.
inline double seconds_of(int64_t n_samples) {
  return static_cast<double>(n_samples) / kMelSampleRateHz;
}

// A recording, mono at kMelSampleRateHz. Errors: as of Recognizer::transcribe().
Result<Heard> hear_recording(Recognizer& recognizer, std::span<const float> samples,
                             const AsrRequest& request, const RecordingWatch& watch = {},
                             const Cancellation& cancellation = {});

// The same where somebody speaks, in segments that are short enough to be read at a glance: subtitles.
Result<Heard> hear_speech(Recognizer& recognizer, std::span<const float> samples,
                          std::span<const SpeechSegment> speech, const AsrRequest& request,
                          const RecordingWatch& watch = {}, const Cancellation& cancellation = {});

// Gives the segments the times of their words. A transcript that does not fit its sound has none, for which
// `on_remark` gets the reason. Errors: cancelled.
Result<void> time_words(Aligner& aligner, std::span<const float> samples, Heard& heard,
                        const std::function<void(const HeardSegment& segment, const Error& why)>& on_failure,
                        const Cancellation& cancellation = {});

// What a transcriber is told while sound comes in. Called by whoever feeds it.
class TranscriberListener {
 public:
  virtual ~TranscriberListener() = default;
  // What is being said, from `start_s` on; may still change.
  virtual void on_partial(double start_s, const AsrPartial& partial) = 0;
  // A stretch of speech that has ended.
  virtual void on_segment(const HeardSegment& segment) = 0;
};

struct TranscriberOptions {
  AsrRequest request;
  TurnOptions turns;       // what ends a stretch of speech
  int sample_rate_hz = 0;  // of what is fed; 0: that of the recogniser
  bool may_wait = false;   // feed() rather waits than lets sound pile up that nobody has come to yet
};

// A stream of sound. From one thread at a time.
class Transcriber {
 public:
  // Without a detector (null) everything is one stretch of speech. Errors: as of Recognizer::open(); a rate
  // that sound does not have.
  static Result<std::unique_ptr<Transcriber>> open(std::shared_ptr<AsrRegion> ears,
                                                   std::shared_ptr<const VadRegion> detector,
                                                   const TranscriberOptions& options,
                                                   TranscriberListener& listener);

  // Mono samples. Errors: the recogniser's, after which nothing more is heard.
  Result<void> feed(std::span<const float> samples);

  // The sound has ended: all that was heard.
  Result<Heard> finish();

 private:
  Transcriber(std::shared_ptr<AsrRegion> ears, const TranscriberOptions& options,
              TranscriberListener& listener)
      : ears_(std::move(ears)), options_(options), listener_(listener) {}

  Result<void> hear(std::span<const float> samples);
  void on_event(const TurnEvent& event);
  void on_audio(std::span<const float> samples);
  void give(std::span<const float> samples);
  Result<void> wait_for_recognizer();
  std::optional<Transcription> end_stretch();
  void add(HeardSegment segment);

  const std::shared_ptr<AsrRegion> ears_;  // as long as the stream is open
  const TranscriberOptions options_;
  TranscriberListener& listener_;
  std::unique_ptr<AsrStream> stream_;
  std::optional<SpeechDetector> detector_;
  std::optional<Resampler> resampler_;  // where the rate is not the recogniser's

  Result<void> state_;  // of the recogniser: the first error
  bool is_speaking_ = false, is_paused_ = false;
  std::vector<float> withheld_;  // of a pause
  int64_t first_sample_ = 0;     // of the stretch of speech, in the whole sound
  int64_t n_fed_ = 0;            // samples of the stretch
  int64_t n_heard_ = 0;          // samples of the whole sound
  uint64_t revision_ = 0;        // of the last partial transcript
  Heard heard_;
};

}  // namespace parlance
