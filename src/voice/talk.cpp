#include "voice/talk.h"

#include <algorithm>
#include <utility>

#include "text/unicode.h"
#include "tts/audio/speech_format.h"
#include "tts/text/duration.h"
#include "voice/heard_text.h"

namespace parlance {

namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

TalkEvent event_of(TurnEvent::Kind kind) {
  switch (kind) {
    case TurnEvent::Kind::speech_start:
      return TalkEvent::speech_start;
    case TurnEvent::Kind::speech_active:
      return TalkEvent::certain_speech;
    case TurnEvent::Kind::speech_pause:
      return TalkEvent::pause;
    case TurnEvent::Kind::speech_resume:
      return TalkEvent::resume;
    case TurnEvent::Kind::speech_end:
      return TalkEvent::end;
    case TurnEvent::Kind::blip:
      return TalkEvent::blip;
  }
  return TalkEvent::blip;
}

int64_t estimated_samples(std::string_view text) {
  return n_target_frames(text, {}, 0) * kSpeechFrameSamples;
}

}  // namespace

Result<void> Talk::dispatch(TalkEvent event) {
  TalkMove move = next_move(state_, event);
  const bool is_new = move.state != std::exchange(state_, move.state);
  for (const TalkAction action : move.actions) PARLANCE_CHECK(act(action));
  if (is_new) observer_.on_state(state_);
  return {};
}

Result<void> Talk::act(TalkAction action) {
  switch (action) {
    case TalkAction::open_turn:
      is_open_ = true;
      is_withholding_ = awaits_text_ = false;
      withheld_.clear();
      text_.clear();
      revision_ = 0;
      n_drafts_ = 0;
      preview_.clear();
      turn_ = {};
      return parts_.ears.begin();
    case TalkAction::transcribe:
      is_withholding_ = awaits_text_ = true;
      parts_.ears.pause();
      return {};
    case TalkAction::go_on:
      for (const Checkpoint c :
           {Checkpoint::speech_end, Checkpoint::pause, Checkpoint::asr_final, Checkpoint::turn_end})
        turn_.clear(c);
      is_withholding_ = awaits_text_ = false;
      return parts_.ears.feed(std::exchange(withheld_, {}));
    case TalkAction::draft:
      if (options_.drafts_answers) start_reply();
      return {};
    case TalkAction::drop_draft:
      if (!reply_) return {};
      if (reply_->is_released) parts_.loudspeaker.stop();
      parts_.mouth.cancel();
      parts_.mind.drop(reply_->id);
      reply_.reset();
      return {};
    case TalkAction::release:
      if (!reply_) start_reply();
      reply_->is_released = true;
      parts_.loudspeaker.begin_answer();
      if (!reply_->withheld.empty()) parts_.loudspeaker.play(std::exchange(reply_->withheld, {}));
      tell_mouth();
      return {};
    case TalkAction::commit:
      is_open_ = false;
      reply_->is_committed = true;
      for (int i = 0; i < kCheckpoints; ++i) {
        const auto checkpoint = static_cast<Checkpoint>(i);
        if (const auto at_ms = turn_.at_ms(checkpoint)) reply_->report.trace.mark_first(checkpoint, *at_ms);
      }
      reply_->report.number = ++n_turns_;
      reply_->report.n_drafts = n_drafts_;
      if (end_silence_ms_) {
        reply_->report.end_signs = signs_;
        reply_->report.end_silence_ms = *end_silence_ms_;
      }
      observer_.on_question(reply_->report.question);
      if (!reply_->report.answer.empty()) observer_.on_answer(reply_->report.answer);
      return {};
    case TalkAction::hush:
      reply_->report.trace.mark(Checkpoint::barge_in, onset_ms_);
      reply_->report.trace.mark(Checkpoint::hushed, now_ms_);
      parts_.loudspeaker.hush();
      return {};
    case TalkAction::unhush:
      reply_->report.trace.clear(Checkpoint::barge_in);
      reply_->report.trace.clear(Checkpoint::hushed);
      parts_.loudspeaker.unhush();
      return {};
    case TalkAction::interrupt:
      end_reply(/*is_interrupted=*/true);
      return {};
    case TalkAction::forget_turn:
      is_open_ = is_withholding_ = awaits_text_ = false;
      withheld_.clear();
      return {};
  }
  return {};
}

void Talk::start_reply() {
  reply_.emplace(Reply{.id = ++n_replies_,
                       .report = {},
                       .chunker = PhraseChunker(options_.phrases),
                       .phrases = {},
                       .withheld = {}});
  ++n_drafts_;
  reply_->report.question = text_;
  reply_->report.trace.mark(Checkpoint::llm_start, now_ms_);
  parts_.mind.ask(reply_->id, text_);
}

void Talk::end_reply(bool is_interrupted) {
  TurnReport& report = reply_->report;
  report.n_samples = parts_.loudspeaker.n_heard();
  report.heard = heard_words();
  report.is_interrupted = is_interrupted;
  if (is_interrupted) {
    parts_.loudspeaker.stop();
    parts_.mouth.cancel();
    parts_.mind.cut(reply_->id, report.heard);
    report.trace.mark(Checkpoint::hard_stop, now_ms_);
  } else if (report.n_samples > 0) {
    report.trace.mark(Checkpoint::audio_last_played, now_ms_);
  }
  const char32_t mark = last_code_point(report.heard);
  has_asked_ = mark == U'?' || mark == U'\uFF1F' || mark == U'\u061F';
  const TurnReport ended = std::move(report);
  reply_.reset();
  observer_.on_turn(ended);
}

// Before an answer is released, its first phrase only: the rest may be for nothing.
void Talk::tell_mouth() {
  const auto n_phrases = std::ssize(reply_->phrases);
  const int64_t n_wanted = reply_->is_released ? n_phrases : std::min<int64_t>(1, n_phrases);
  for (; reply_->n_told < n_wanted; ++reply_->n_told) {
    parts_.mouth.say(reply_->id, reply_->n_told, reply_->phrases[static_cast<size_t>(reply_->n_told)]);
  }
}

void Talk::add_phrase(Phrase phrase) {
  TurnTrace& trace = reply_->report.trace;
  trace.mark_first(Checkpoint::phrase_emit, now_ms_);
  trace.phrases.push_back({.text = phrase.text, .emit_ms = now_ms_});
  reply_->phrases.push_back(std::move(phrase.text));
  tell_mouth();
}

void Talk::take_thought(std::string_view text) {
  reply_->report.trace.mark_first(Checkpoint::llm_first_token, now_ms_);
  reply_->report.answer += text;
  if (reply_->is_committed) observer_.on_answer(text);
  for (Phrase& phrase : reply_->chunker.push(text, now_ms_)) add_phrase(std::move(phrase));
}

void Talk::take_sound(const Spoken& spoken) {
  TurnTrace& trace = reply_->report.trace;
  trace.mark_first(Checkpoint::tts_first_audio, spoken.at_ms);
  PhraseTrace& phrase = trace.phrases[static_cast<size_t>(spoken.phrase)];
  if (!phrase.tts_first_audio_ms) phrase.tts_first_audio_ms = spoken.at_ms;
  const auto n = std::ssize(spoken.samples);
  phrase.n_samples += n;
  reply_->n_samples += n;
  if (reply_->is_released) {
    parts_.loudspeaker.play(spoken.samples);
  } else {
    reply_->withheld.insert(reply_->withheld.end(), spoken.samples.begin(), spoken.samples.end());
  }
}

Result<void> Talk::take_turn_event(const HeardTurn& heard) {
  const TalkEvent event = event_of(heard.event.kind);
  if (event == TalkEvent::pause || event == TalkEvent::end) {
    turn_.mark(Checkpoint::speech_end, heard.speech_end_ms);
    turn_.mark(event == TalkEvent::pause ? Checkpoint::pause : Checkpoint::turn_end, heard.at_ms);
  }
  if (event == TalkEvent::pause) {
    ++n_pauses_;
    speech_end_ = heard.event.speech_end;
    signs_ = {.final_level = heard.final_level};
    end_silence_ms_.reset();
  }
  if (event == TalkEvent::certain_speech && heard.at_ms - heard.speech_start_ms < options_.barge_in_ms)
    return {};
  onset_ms_ = event == TalkEvent::speech_start ? heard.speech_start_ms : heard.at_ms;
  PARLANCE_CHECK(dispatch(event));
  if (is_open_) turn_.mark_first(Checkpoint::speech_start, heard.speech_start_ms);
  return {};
}

Result<void> Talk::take(TalkMessage message) {
  return std::visit(
      Overloaded{[&](const HeardTurn& heard) {
                   now_ms_ = std::max(now_ms_, heard.at_ms);
                   return take_turn_event(heard);
                 },
                 [&](const HeardSound& heard) -> Result<void> {
                   if (!is_open_) return {};
                   if (!is_withholding_) return parts_.ears.feed(heard.samples);
                   withheld_.insert(withheld_.end(), heard.samples.begin(), heard.samples.end());
                   return {};
                 },
                 [&](const SourceOver&) -> Result<void> {
                   is_source_over_ = true;
                   return {};
                 },
                 [&](const HeardWords& heard) {
                   now_ms_ = std::max(now_ms_, heard.at_ms);
                   return take_hearing(heard.hearing);
                 },
                 [&](const TurnJudged& judged) -> Result<void> {
                   now_ms_ = std::max(now_ms_, judged.at_ms);
                   if (judged.pause != n_pauses_) return {};
                   signs_.probability = judged.probability;
                   expect_end();
                   return {};
                 },
                 [&](const Thought& thought) -> Result<void> {
                   now_ms_ = std::max(now_ms_, thought.at_ms);
                   if (reply_of(thought.reply)) take_thought(thought.text);
                   return {};
                 },
                 [&](const ThoughtEnd& end) -> Result<void> {
                   now_ms_ = std::max(now_ms_, end.at_ms);
                   Reply* const reply = reply_of(end.reply);
                   if (!reply) return {};
                   reply->is_written = true;
                   reply->report.trace.mark(Checkpoint::llm_end, end.at_ms);
                   reply->report.draft = end.draft;
                   if (auto phrase = reply->chunker.finish()) add_phrase(*std::move(phrase));
                   return {};
                 },
                 [&](const SpeechBegun& begun) -> Result<void> {
                   Reply* const reply = reply_of(begun.reply);
                   if (!reply) return {};
                   reply->report.trace.mark_first(Checkpoint::tts_start, begun.at_ms);
                   reply->report.trace.phrases[static_cast<size_t>(begun.phrase)].tts_start_ms = begun.at_ms;
                   return {};
                 },
                 [&](const Spoken& spoken) -> Result<void> {
                   now_ms_ = std::max(now_ms_, spoken.at_ms);
                   if (reply_of(spoken.reply)) take_sound(spoken);
                   return {};
                 },
                 [&](const SpeechEnd& end) -> Result<void> {
                   Reply* const reply = reply_of(end.reply);
                   if (!reply) return {};
                   ++reply->n_said;
                   reply->report.trace.mark(Checkpoint::tts_end, end.at_ms);
                   reply->report.trace.phrases[static_cast<size_t>(end.phrase)].tts_end_ms = end.at_ms;
                   return {};
                 },
                 [&](const Broken& broken) -> Result<void> { return tl::unexpected<Error>(broken.error); }},
      message);
}

Result<void> Talk::take_hearing(const Hearing& hearing) {
  if (!is_open_) return {};
  if (hearing.revision != std::exchange(revision_, hearing.revision) && !hearing.text.empty()) {
    turn_.mark_first(Checkpoint::asr_first_partial, now_ms_);
    observer_.on_hearing(hearing);
  }
  if (state_ == TalkState::doubting && !awaits_text_ && can_be_said(hearing.text)) {
    return dispatch(TalkEvent::certain_speech);
  }
  if (!awaits_text_) preview_ = hearing.text;
  if (!awaits_text_ || !hearing.is_final) return {};
  awaits_text_ = false;
  text_ = strip_white_space(hearing.text);
  turn_.mark(Checkpoint::asr_final, now_ms_);
  if (!can_be_said(text_)) return dispatch(TalkEvent::no_words);
  judge_end();
  return dispatch(TalkEvent::words);
}

// The words of a pause are known.
void Talk::judge_end() {
  if (!options_.turn_end || !parts_.attention) return;
  // A preview's last word may have been cut in the middle.
  std::string_view known = without_end_marks(preview_);
  known = known.substr(0, known.rfind(' ') + 1);
  signs_.has_mark = ends_sentence(text_);
  signs_.is_stable = text_.starts_with(known);
  signs_.is_reply = has_asked_;
  if (!parts_.mind.judge(n_pauses_, text_)) expect_end();
}

void Talk::expect_end() {
  end_silence_ms_ = end_silence_ms(signs_, *options_.turn_end);
  parts_.attention->expect_end(speech_end_, *end_silence_ms_);
}

bool Talk::is_said() const {
  return reply_->is_released && reply_->is_written && reply_->n_said == std::ssize(reply_->phrases) &&
         parts_.loudspeaker.is_drained();
}

Result<void> Talk::tick(double now_ms) {
  now_ms_ = std::max(now_ms_, now_ms);
  if (!reply_) return parts_.loudspeaker.tick();  // it may have something of its own to say
  if (!reply_->is_written) {
    if (auto phrase = reply_->chunker.flush_if_late(now_ms_)) add_phrase(*std::move(phrase));
  }
  if (!reply_->is_released) return parts_.loudspeaker.tick();
  if (state_ == TalkState::answering && reply_->n_samples > 0) PARLANCE_CHECK(dispatch(TalkEvent::sound));
  PARLANCE_CHECK(parts_.loudspeaker.tick());
  if (parts_.loudspeaker.n_heard() > 0) {
    reply_->report.trace.mark_first(Checkpoint::audio_first_played, now_ms_);
  }
  if ((state_ == TalkState::answering || state_ == TalkState::speaking) && is_said()) {
    PARLANCE_CHECK(dispatch(TalkEvent::said));
    end_reply(/*is_interrupted=*/false);
  }
  return {};
}

std::optional<double> Talk::wait_ms(double now_ms) const {
  std::optional<double> wait = parts_.loudspeaker.wait_ms();
  if (!reply_ || reply_->is_written) return wait;
  const auto writing = reply_->chunker.wait_ms(now_ms);
  if (writing) wait = std::min(wait.value_or(*writing), *writing);
  return wait;
}

// Phrases are parts of the answer, and so is what is between them. How long one takes that is still being
// spoken is estimated, so that its last words are not taken for heard with its first sound.
std::string Talk::heard_words() const {
  const std::string_view answer = reply_->report.answer;
  const int64_t n_heard = parts_.loudspeaker.n_heard();
  std::vector<PlayedPhrase> spoken;
  size_t at = 0;  // in the answer, behind the last phrase
  int64_t end = 0;
  for (size_t i = 0; i < reply_->phrases.size() && end < n_heard; ++i) {
    const std::string& text = reply_->phrases[i];
    const size_t from = answer.find(text, at);
    if (i > 0) {
      const std::string_view between = answer.substr(at, from - at);
      spoken.back().text += strip_white_space(between).empty() ? between : " ";
    }
    at = from + text.size();
    const int64_t begin = std::exchange(end, end + reply_->report.trace.phrases[i].n_samples);
    const bool is_whole = static_cast<int64_t>(i) < reply_->n_said;
    spoken.push_back({text, begin, is_whole ? end : std::max(end, begin + estimated_samples(text))});
  }
  return heard_text(spoken, n_heard);
}

void Talk::stop() {
  if (reply_) {
    if (reply_->is_committed) {
      end_reply(/*is_interrupted=*/true);
    } else {
      (void)act(TalkAction::drop_draft);
    }
  } else {
    parts_.loudspeaker.stop();
  }
  is_open_ = awaits_text_ = false;
  is_source_over_ = true;
  state_ = TalkState::idle;
}

Result<void> run_talk(Talk& talk, Inbox& inbox, const TalkClock& clock, Cancellation cancellation) {
  constexpr double kLookMs = 100;  // a ticket wakes nobody
  while (!talk.is_over()) {
    const double wait_ms = std::min(talk.wait_ms(clock()).value_or(kLookMs), kLookMs);
    const auto wait = std::chrono::microseconds(static_cast<int64_t>(1000 * wait_ms));
    for (TalkMessage& message : inbox.take(wait)) PARLANCE_CHECK(talk.take(std::move(message)));
    PARLANCE_CHECK(talk.tick(clock()));
    if (cancellation.cancelled()) {
      talk.stop();
      return {};
    }
    inbox.settle(talk.is_quiet());
  }
  return {};
}

}  // namespace parlance
