#include "assistant/voice_session.h"

#include <array>
#include <utility>

#include "assistant/speech.h"

namespace parlance {

namespace {

// Tells what fills silences of the conversation's state, too.
class FillingObserver final : public TalkObserver {
 public:
  FillingObserver(TalkObserver& observer, FillerLoudspeaker& filler) : observer_(observer), filler_(filler) {}

  void on_state(TalkState state) override {
    filler_.on_state(state);
    observer_.on_state(state);
  }
  void on_hearing(const Hearing& hearing) override { observer_.on_hearing(hearing); }
  void on_question(std::string_view question) override { observer_.on_question(question); }
  void on_answer(std::string_view text) override { observer_.on_answer(text); }
  void on_turn(const TurnReport& report) override { observer_.on_turn(report); }

 private:
  TalkObserver& observer_;
  FillerLoudspeaker& filler_;
};

}  // namespace

void suit_conversation(Choice& choice) {
  constexpr int64_t kMostContext = 4096;
  constexpr double kMostTurnSeconds = 60;  // the recogniser's memory goes by this
  constexpr int64_t kJudged = 512;         // tokens of a turn whose end is judged
  choice.context.n_ctx = kMostContext;
  choice.context.n_seq = 2;  // the conversation, and what its turns' ends are judged by
  choice.context.n_cache = kMostContext + kJudged;
  choice.recognizer.n_streams = 2;
  choice.synthesizer.n_phrases = kKeptPhrases;
  choice.recognizer.max_seconds = kMostTurnSeconds;
}

Result<std::unique_ptr<VoiceSession>> VoiceSession::open(Regions& regions, const VoiceSessionOptions& options,
                                                         const TalkClock& clock) {
  constexpr std::array kParts = {Region::vad, Region::text, Region::tts, Region::asr};
  PARLANCE_CHECK(regions.acquire(kParts));
  std::unique_ptr<VoiceSession> session(new VoiceSession(options, clock));
  PARLANCE_TRY(session->asr_, regions.asr.acquire());
  PARLANCE_TRY(session->tts_, regions.tts.acquire());
  PARLANCE_TRY(session->vad_, regions.vad.acquire());
  PARLANCE_TRY(auto text, regions.text.acquire());
  PARLANCE_TRY(session->text_, TextStream::open(std::move(text)));

  const Narrator narrator(session->tts_);
  MouthOptions& mouth = session->options_.mouth;
  mouth.manner.language = options.language;
  PARLANCE_TRY(mouth.manner.voice, narrator.voice({.name = options.voice}, mouth.manner.cancellation));
  // Not every voice has phrases that were spoken ahead of time.
  for (const bool is_first : {true, false})
    (void)narrator.remember_phrases(options.voice, phrase_manner(mouth, is_first));
  if (options.filler != FillerMoment::never) {
    PARLANCE_TRY(session->filler_, narrator.filler(options.voice, phrase_manner(mouth, /*is_first=*/true)));
  }
  Inbox& inbox = session->inbox_;
  session->ears_ = std::make_unique<RecognizerEars>(
      *session->asr_->recognizer, AsrRequest{.context = {}, .language = options.language}, inbox, clock);
  session->mouth_ = std::make_unique<SynthesizerMouth>(*session->tts_->queue, mouth, inbox, clock);
  session->mind_ = std::make_unique<TalkMind>(session->text_->session(), options.mind, inbox, clock);
  return session;
}

VoiceSession::~VoiceSession() = default;

void VoiceSession::listen_to(std::vector<std::unique_ptr<SoundSource>> sources, const SourceManner& manner) {
  TurnOptions turns = options_.turns;
  if (options_.talk.turn_end) turns.end_hangover_ms = options_.talk.turn_end->most_ms;
  source_ = std::make_unique<TalkSource>(std::move(sources), manner, vad_->model, turns, inbox_, clock_);
}

Result<void> VoiceSession::run(Loudspeaker& loudspeaker, TalkObserver& observer, Cancellation cancellation) {
  FillerLoudspeaker filling(loudspeaker, options_.filler, filler_);
  FillingObserver both(observer, filling);
  Talk talk({*ears_, *mind_, *mouth_, filling, source_.get()}, both, options_.talk);
  return run_talk(talk, inbox_, clock_, std::move(cancellation));
}

}  // namespace parlance
