// What a Realtime session is made of, as it sees it: somebody who listens, thinks, speaks and finds speech.
// None of them keeps it waiting; each says through a function that there is news, which the session then asks
// for. Behind them are the models of a server; in tests, scripts on a virtual clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "asr/recognizer.h"
#include "base/function_ref.h"
#include "chat/answer_reader.h"
#include "engine/request.h"
#include "realtime/protocol.h"
#include "vad/turn_detector.h"
#include "voice/inbox.h"
#include "voice/parts.h"

namespace parlance {

// May be called from any thread; must not be waited in.
using OnNews = std::function<void()>;

struct MindUsage {
  int64_t n_input = 0, n_cached = 0;  // tokens of the prompt, and of these known before
  int64_t n_output = 0;
};

// An answer that is being made. Going ends it.
class MindAnswer {
 public:
  virtual ~MindAnswer() = default;

  // Nothing new will come; there may be pieces that nobody took.
  virtual bool has_ended() const = 0;
  // What is new.
  virtual std::vector<ReadPiece> take() = 0;
  virtual MindUsage usage() const = 0;  // so far
  // Once it has ended: whether it was complete, or cut at the limit of its tokens. Errors: why there is none.
  virtual RealtimeResult<bool> is_complete() const = 0;
};

// One recording or utterance that is being understood.
class EarStream {
 public:
  virtual ~EarStream() = default;

  virtual Result<void> feed(std::span<const float> samples) = 0;  // at kMelSampleRateHz
  // The final text of what was fed is wanted now; more samples make it a preview again.
  virtual void pause() = 0;
  virtual Result<Hearing> hearing() = 0;
};

// Finds speech in a stream at kMelSampleRateHz. Positions count its samples from the first on.
class SpeechFinder {
 public:
  virtual ~SpeechFinder() = default;

  using OnEvent = FunctionRef<void(const TurnEvent&)>;
  using OnAudio = FunctionRef<void(std::span<const float> samples, int64_t position)>;

  virtual void feed(std::span<const float> samples, OnEvent on_event, OnAudio on_audio) = 0;
  // Speech that goes on ends here; told as after a silence.
  virtual void end(OnEvent on_event, OnAudio on_audio) = 0;
  // The same, and nobody is told.
  virtual void forget() = 0;
};

// How likely the person has finished with these words. Going gives it up.
class EndJudgement {
 public:
  virtual ~EndJudgement() = default;
  virtual std::optional<double> probability() = 0;  // none: not known yet
};

// The beginning of a prompt that is computed before it is needed. Going gives it up.
class MindWarming {
 public:
  virtual ~MindWarming() = default;
  virtual bool has_ended() const = 0;
};

enum class WhenWarm : uint8_t {
  some_time,  // nobody waits for it
  soon,       // somebody is speaking
};

struct MouthTerms {
  std::string voice, language;
  double speed = 1;
};

class RealtimeParts {
 public:
  virtual ~RealtimeParts() = default;

  virtual double now_ms() = 0;

  // A chat as POST /v1/chat/completions takes it. Errors name its fields.
  virtual RealtimeResult<std::unique_ptr<MindAnswer>> ask(const Json& chat, OnNews on_news) = 0;
  // Has what all that may follow on these messages have in common computed. Null: there is nothing to
  // compute.
  virtual std::unique_ptr<MindWarming> warm(const Json& chat, WhenWarm when, OnNews on_news) = 0;
  // Tokens of its prompt.
  virtual RealtimeResult<int64_t> count(const Json& chat) = 0;
  virtual int64_t n_ctx() const = 0;
  // Null: nobody can tell.
  virtual std::unique_ptr<EndJudgement> judge_end(const Json& chat, OnNews on_news) = 0;

  // Error busy: as many are open as may; try again later.
  virtual Result<std::unique_ptr<EarStream>> listen(const AsrRequest& request, OnNews on_news) = 0;
  virtual Result<std::unique_ptr<Mouth>> open_mouth(const MouthTerms& terms, Inbox& inbox) = 0;
  // What is said in this voice in place of an answer that is not there yet.
  virtual std::string filler_text(const std::string& voice) = 0;
  virtual int64_t samples_of_frame() const { return 960; }  // of the speech codec, at kSpeechRateHz
  // Errors: there is no detector.
  virtual Result<std::unique_ptr<SpeechFinder>> find_speech(const TurnOptions& options) = 0;
};

}  // namespace parlance
