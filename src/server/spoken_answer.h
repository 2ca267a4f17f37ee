// An answer that is spoken while it is written: its words become phrases, their sound the bytes of a format.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "assistant/speech.h"
#include "audio/sound_encoder.h"
#include "base/result.h"
#include "voice/phrase_chunker.h"
#include "voice/synthesizer_mouth.h"

namespace parlance {

struct SpokenTerms {
  std::string voice;  // a preset
  SoundFormat format = SoundFormat::wav;
};

// One thread at a time.
class SpokenAnswer {
 public:
  static constexpr int kFrameSamples = kSpeechRateHz / 25;  // of the codec: what usage counts

  // `on_news` is called from any thread when there is sound, and must not wait for anything. Errors: no such
  // voice; a format that the system's library cannot write.
  static Result<std::unique_ptr<SpokenAnswer>> open(std::shared_ptr<TtsRegion> region,
                                                    const SpokenTerms& terms, std::function<void()> on_news);
  ~SpokenAnswer();

  // The next words, whole code points; nothing: only time has passed. No more is spoken ahead of take() than
  // a few phrases.
  void add(std::string_view words);
  // There are no more.
  void finish();
  // Nobody listens any more.
  void cancel();

  // Bytes of the sound that are final since the last call. Errors: what went wrong when it was spoken.
  Result<std::string> take();
  bool has_ended() const { return has_ended_; }  // take() has given all there is
  bool has_sound() const { return n_samples_ > 0; }
  int64_t n_frames() const { return (n_samples_ + kFrameSamples - 1) / kFrameSamples; }

 private:
  SpokenAnswer(std::shared_ptr<TtsRegion> region, const MouthOptions& options, SoundEncoder encoder,
               std::function<void()> on_news);
  void say(const Phrase& phrase);
  void say_what_waits();

  const std::shared_ptr<TtsRegion> region_;
  const TalkClock clock_;
  Inbox inbox_;
  SynthesizerMouth mouth_;
  PhraseChunker chunker_;
  SoundEncoder encoder_;
  std::deque<std::string> waiting_;   // phrases
  int64_t n_asked_ = 0, n_said_ = 0;  // of them
  int64_t n_samples_ = 0;
  bool has_words_ended_ = false, has_ended_ = false;
};

}  // namespace parlance
