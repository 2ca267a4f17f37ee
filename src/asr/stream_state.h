// A stream of speech on its way to text: what came, what is wanted of it, and what was heard. Who computes
// for it, and when, is somebody else's business (stream_scheduler.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "asr/audio_split.h"
#include "asr/transcription.h"
#include "asr/utterance.h"
#include "base/cancellation.h"
#include "base/result.h"

namespace parlance {

// The rate of all samples that are recognised.
inline int64_t speech_samples_in(double seconds) {
  return static_cast<int64_t>(seconds * kMelSampleRateHz);
}
inline double speech_seconds_of(int64_t n_samples) {
  return static_cast<double>(n_samples) / kMelSampleRateHz;
}

// The segment that a finished utterance is, and the transcription that segments are.
AsrSegment segment_of(const Utterance& utterance, int64_t first_sample);
Transcription join_segments_of(std::vector<AsrSegment> segments);

// Refuses samples that are no numbers.
Result<void> check_finite(std::span<const float> samples);

// What can be done for a stream, the more urgent the later.
enum class StreamTask : uint8_t { none, listen, preview, pause, finish };

struct StreamRules {
  SplitRule split;
  double preview_seconds = 0;                // of new audio before the next preview
  double preview_share = 0;                  // see RecognizerOptions
  const std::atomic<int>* n_open = nullptr;  // streams that share the machine; null: this one alone
};

class StreamState {
 public:
  // `on_change` is told of every new partial(), and of a failure; by whoever computes. It must not wait, and
  // may call nothing of the stream. All computing ends with `all`.
  StreamState(std::unique_ptr<Utterance> utterance, const StreamRules& rules, std::function<void()> on_change,
              const Cancellation& all);

  // By whoever speaks and asks, from any thread; what is guarded is held for moments only.
  Result<void> feed(std::span<const float> samples);
  void pause();  // a preview that is under way is given up for the final text
  void ask_for_all();
  Result<Transcription> wait_for_all();
  // Ends what is being computed, without waiting for it; on_change is not called any more.
  void close();
  AsrPartial partial() const;
  std::optional<Error> failure() const;

  // By whoever computes, for one stream never in two threads at the same time.
  StreamTask most_urgent() const;
  void compute(StreamTask task);
  // Nothing more will be computed.
  void give_up(Error why);

 private:
  StreamTask wanted() const;
  bool may_preview(int64_t n_samples) const;
  Result<void> update(StreamTask task);
  Result<void> cut_off(bool is_end);
  void publish(bool is_final);
  void tell();
  static Work work(const Cancellation& cancellation) {
    return {.cancellation = cancellation, .priority = Priority::realtime};
  }

  const StreamRules rules_;
  // Of all that is computed for it, from when it was opened until it is closed.
  const CancellationSource source_;
  const Cancellation cancellation_ = source_.ticket();
  const CancellationSource previews_{cancellation_};

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable has_all_;
  std::vector<float> inbox_;
  int64_t n_fed_ = 0;  // samples since the transcript began
  bool is_pausing_ = false, is_finishing_ = false, is_closed_ = false;
  AsrPartial partial_;
  std::optional<Transcription> all_;  // as it was asked for
  std::optional<Error> failure_;      // for good

  std::mutex listener_mutex_;  // of what follows
  std::function<void()> on_change_;

  // Of whoever computes.
  std::unique_ptr<Utterance> utterance_;
  std::vector<AsrSegment> segments_;  // that are finished
  int64_t first_sample_ = 0;          // of the utterance
  int64_t n_listened_ = 0;            // samples of the utterance at the last task
  int64_t n_previewed_ = 0;           // at the last preview
  double preview_s_ = 0;              // that the last preview took
};

}  // namespace parlance
