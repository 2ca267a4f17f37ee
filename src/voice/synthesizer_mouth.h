// The mouth of a conversation: phrases are orders to those who speak, one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tts/speech_queue.h"
#include "voice/inbox.h"

namespace parlance {

struct MouthOptions {
  SpeechRequest manner;  // all but the text
  int first_steps = 0;   // passes of the network over an answer's first phrase; 0: as over the others
  bool warms_up = true;  // says something that nobody hears, at once; for those who come first
};

// Phrases are said so, an answer's first one and the others: all of a request but the text.
SpeechRequest phrase_manner(const MouthOptions& options, bool is_first);

class SynthesizerMouth final : public Mouth, public TalkPart {
 public:
  // What it uses must outlive it.
  SynthesizerMouth(SpeechQueue& queue, const MouthOptions& options, Inbox& inbox, const TalkClock& clock);
  // Ends what is being spoken, without waiting for it.
  ~SynthesizerMouth() override;

  void say(uint64_t reply, int64_t phrase, const std::string& text) override;
  void cancel() override { source_.cancel(); }
  void report(std::vector<TalkMessage>& news) override;

 private:
  struct Voice;  // what orders share; outlives the mouth
  class WarmUp;
  class PhraseOrder;

  SpeechQueue& queue_;
  const CancellationSource source_;  // of all that it was told to say
  std::shared_ptr<Voice> voice_;
};

}  // namespace parlance
