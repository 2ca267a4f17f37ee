// Speech recognition for many: recordings in one call, and streams that are heard while they come in. Threads
// of the recogniser do all streams' work, so that nobody who feeds or asks ever waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "asr/asr_model.h"
#include "asr/transcription.h"
#include "asr/utterance.h"
#include "kv/policy.h"

namespace parlance {

struct RecognizerOptions {
  AsrMode mode = kReferenceAsr;
  KvPolicy cache;                 // of the language model's keys and values
  int n_streams = 4;              // that may be open at once
  double max_seconds = 180;       // what is longer is cut where it is quiet; a model may want shorter pieces
  double preview_seconds = 0.25;  // of new audio before a stream is looked at again
  // The share of time that the previews of all streams together may take, as they were measured: on a machine
  // that is slow, or busy with others, they come less often. 0: no limit.
  double preview_share = 0.6;
  int64_t max_tokens = 0;  // of a transcript; 0: by its length
  // Positions of the language model's context; pieces are cut so that they fit, without a context of names
  // and topics beyond a few words. 0: as many as the longest piece takes, with any context.
  int64_t n_ctx = 0;
  int64_t n_batch = 512;  // rows that go through the language model together
  std::function<std::vector<Token>(double seconds)> script = {};  // for timing, see UtteranceOptions
};

struct AsrRequest {
  std::string context;   // names, terms, the topic
  std::string language;  // a name or code; empty: the model finds out
};

class Recognizer;
struct RecognizerCore;
class StreamState;

// One stream. All calls may come from any thread.
class AsrStream {
 public:
  // Ends what is being computed for the stream, without waiting.
  ~AsrStream();
  AsrStream(const AsrStream&) = delete;
  AsrStream& operator=(const AsrStream&) = delete;

  // Takes mono samples at kMelSampleRateHz; copies them and returns. After finish() they begin a new
  // transcript. Errors: a sample that is not a number; more than ten minutes that nobody has come to yet.
  Result<void> feed(std::span<const float> samples);

  // The latest preview; never waits for a computation.
  AsrPartial partial() const;

  // Why nothing more will be recognised, if that is so; never waits either.
  std::optional<Error> failure() const;

  // The speaker paused: what there is is transcribed for good at once, so that finish() need not. More
  // samples make it a preview.
  void pause();

  // The transcript of all samples; waits for it. Without samples it is empty.
  Result<Transcription> finish();

 private:
  friend class Recognizer;
  AsrStream(std::shared_ptr<RecognizerCore> core, std::shared_ptr<StreamState> state);

  std::shared_ptr<RecognizerCore> core_;
  std::shared_ptr<StreamState> state_;
};

// What is told of a recording while it is heard; either may be empty.
struct RecordingWatch {
  std::function<void(double seconds)> on_seconds = {};  // that have been encoded
  // What was understood so far, from the beginning on: see Utterance::on_text().
  std::function<void(const std::string& text)> on_text = {};
};

class Recognizer {
 public:
  // The model must outlive the recogniser, and the recogniser its streams' computations (not the streams).
  // Errors: memory, kernels that the device lacks, options out of range.
  static Result<std::unique_ptr<Recognizer>> create(const AsrModel& model,
                                                    const RecognizerOptions& options = {});
  ~Recognizer();

  // A whole recording: mono samples at kMelSampleRateHz. Errors: a sample that is not a number; an unknown
  // language; cancelled.
  Result<Transcription> transcribe(std::span<const float> samples, const AsrRequest& request,
                                   const RecordingWatch& watch = {}, Cancellation cancellation = {});

  // Errors: as many streams are open as may be; an unknown language. `on_change` is told when there is a new
  // AsrStream::partial(), or a failure, by a thread of the recogniser and until the stream is closed. It must
  // not wait, and may call nothing of the stream.
  Result<std::unique_ptr<AsrStream>> open(const AsrRequest& request, std::function<void()> on_change = {});

  // Of caches and activations.
  size_t memory_bytes() const;

 private:
  explicit Recognizer(std::shared_ptr<RecognizerCore> core) : core_(std::move(core)) {}

  std::shared_ptr<RecognizerCore> core_;
};

}  // namespace parlance
