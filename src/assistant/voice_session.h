// A conversation by voice with the models of a choice: builds its parts, and owns them while it goes on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "assistant/regions.h"
#include "assistant/sound_source.h"
#include "assistant/talk_mind.h"
#include "assistant/talk_source.h"
#include "assistant/text_stream.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "voice/filler.h"
#include "voice/recognizer_ears.h"
#include "voice/synthesizer_mouth.h"
#include "voice/talk.h"

namespace parlance {

struct VoiceSessionOptions {
  std::string language;  // a name or code; empty: the models find out
  std::string voice;     // as VoiceChoice::name
  MouthOptions mouth;
  MindOptions mind;
  TalkOptions talk;
  TurnOptions turns;  // with TalkOptions::turn_end, the end hangover is as long as that allows
  FillerMoment filler = FillerMoment::never;  // when a short sound stands in for an answer
};

// What suits a conversation in a choice of models: contexts of a few thousand tokens, turns of a minute.
void suit_conversation(Choice& choice);

// On the thread of its owner, but for inbox().
class VoiceSession {
 public:
  // Acquires the regions text, asr, tts and vad, and keeps them. Errors: theirs; a voice or language that
  // they do not have.
  static Result<std::unique_ptr<VoiceSession>> open(Regions& regions, const VoiceSessionOptions& options,
                                                    const TalkClock& clock);
  ~VoiceSession();

  // Through which sound from elsewhere comes in, with the events of a voice detector.
  Inbox& inbox() { return inbox_; }
  // Listens to the sources, one after the other.
  void listen_to(std::vector<std::unique_ptr<SoundSource>> sources, const SourceManner& manner);
  // Times that sound of theirs was lost.
  int64_t n_lost() const { return source_ ? source_->n_lost() : 0; }

  // Talks until nothing more will be heard and all is said, or it is cancelled. Errors: of a part that cannot
  // go on.
  Result<void> run(Loudspeaker& loudspeaker, TalkObserver& observer, Cancellation cancellation = {});

 private:
  VoiceSession(const VoiceSessionOptions& options, TalkClock clock)
      : options_(options), clock_(std::move(clock)) {}

  VoiceSessionOptions options_;
  const TalkClock clock_;
  std::vector<float> filler_;
  Inbox inbox_;

  // In the order in which they need each other; what posts last goes first at the end.
  std::shared_ptr<AsrRegion> asr_;
  std::shared_ptr<TtsRegion> tts_;
  std::shared_ptr<VadRegion> vad_;
  std::unique_ptr<TextStream> text_;
  std::unique_ptr<RecognizerEars> ears_;
  std::unique_ptr<SynthesizerMouth> mouth_;
  std::unique_ptr<TalkMind> mind_;
  std::unique_ptr<TalkSource> source_;
};

}  // namespace parlance
