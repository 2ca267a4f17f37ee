// How a session hears: sound becomes utterances, these become items and their text.
#include <algorithm>
#include <cmath>

#include "audio/mel.h"
#include "base/random_id.h"
#include "realtime/session.h"
#include "text/unicode.h"
#include "voice/turn_end.h"

namespace parlance {

namespace {

constexpr int64_t kHeardPerMs = kMelSampleRateHz / 1000;

Eagerness eagerness_of(const std::string& word) {
  return word == "low" ? Eagerness::low : word == "high" ? Eagerness::high : Eagerness::medium;
}

TurnOptions turn_options(const TurnSettings& turns) {
  TurnOptions options;
  options.onset = turns.threshold;
  const bool is_semantic = turns.detection == TurnSettings::Detection::meaning;
  options.end_hangover_ms = is_semantic ? semantic_silence_ms(0, eagerness_of(turns.eagerness))
                                        : static_cast<double>(turns.silence_duration_ms);
  options.pause_hangover_ms = std::min(options.pause_hangover_ms, options.end_hangover_ms);
  const double window_ms = 1000.0 * kSileroWindow / kMelSampleRateHz;
  const int64_t padding_ms = is_semantic ? TurnSettings().prefix_padding_ms : turns.prefix_padding_ms;
  options.pre_roll_windows = static_cast<int64_t>(std::ceil(static_cast<double>(padding_ms) / window_ms));
  return options;
}

}  // namespace

double RealtimeSession::ms_of(int64_t sample) const {
  return parts_.now_ms() - static_cast<double>(n_heard_ - sample) / kHeardPerMs;
}

AsrRequest RealtimeSession::asr_request() const {
  AsrRequest request;
  if (!settings_.transcription) return request;
  const TranscriptionSettings& t = *settings_.transcription;
  request.language = t.language.value_or("");
  request.context = t.prompt.value_or("");
  if (t.keywords) {
    for (const std::string& word : *t.keywords)
      request.context += (request.context.empty() ? "" : ", ") + word;
  }
  return request;
}

RealtimeSession::Spoken RealtimeSession::begin_utterance(std::string item_id) {
  auto utterance = std::make_unique<HeardItem>(std::move(item_id), parts_, asr_request(), wake_);
  utterance->is_transcribed = settings_.transcription.has_value();
  utterance->creates_response =
      settings_.kind == SessionKind::conversation && settings_.turns.creates_response;
  return utterance;
}

// The finder follows the settings between two turns.
Result<void> RealtimeSession::ready_finder() {
  const bool is_manual = settings_.turns.detection == TurnSettings::Detection::none;
  if (finder_ && open_) return {};
  if (is_manual) {
    finder_.reset();
    return {};
  }
  if (finder_ && finder_settings_ == settings_.turns) return {};
  PARLANCE_TRY(finder_, parts_.find_speech(turn_options(settings_.turns)));
  finder_settings_ = settings_.turns;
  finder_base_ = n_heard_;
  return {};
}

RealtimeResult<void> RealtimeSession::hear(std::span<const float> samples) {
  const bool was_manual = !finder_;
  if (const auto ready = ready_finder(); !ready) {
    return reject("unsupported_value", "session.audio.input.turn_detection",
                  "turns cannot be detected: {}; set turn_detection to null and commit",
                  ready.error().message);
  }
  if (!finder_) {
    n_heard_ += std::ssize(samples);
    if (samples.empty()) return {};
    if (!open_) {
      open_ = begin_utterance(random_id("item_"));
      open_->creates_response = false;
      open_->first_sample = n_heard_ - std::ssize(samples);
    }
    open_->feed(samples);
    return {};
  }
  std::vector<float> with_buffer;
  if (was_manual && open_) {  // what nobody committed is heard by the finder now
    with_buffer = open_->samples();
    finder_base_ -= std::ssize(with_buffer);
    open_.reset();
    with_buffer.insert(with_buffer.end(), samples.begin(), samples.end());
  }
  n_heard_ += std::ssize(samples);
  finder_->feed(
      with_buffer.empty() ? samples : std::span<const float>(with_buffer),
      [this](const TurnEvent& event) { on_turn_event(event); },
      [this](std::span<const float> speech, int64_t) { on_speech_sound(speech); });
  return {};
}

void RealtimeSession::on_speech_sound(std::span<const float> samples) {
  if (open_) open_->feed(samples);
}

void RealtimeSession::begin_speech(const TurnEvent& event) {
  open_ = begin_utterance(random_id("item_"));
  open_->first_sample = finder_base_ + event.first_sample;
  open_->trace.mark(Checkpoint::speech_start, ms_of(finder_base_ + event.speech_start));
  judged_text_.clear();
  idle_since_ms_.reset();
  events_.send("input_audio_buffer.speech_started",
               {{"audio_start_ms", open_->first_sample / kHeardPerMs}, {"item_id", open_->item_id()}});
  if (!settings_.turns.interrupts_response || settings_.kind == SessionKind::transcription) return;
  const bool is_heard = clock_ && !clock_->is_drained();
  if (!active_ && !is_heard) return;
  if (!settings_.extensions.confirms_barge_in) return interrupt();
  doubt_since_ms_ = parts_.now_ms();
  if (active_) active_->hush();
  if (clock_) clock_->hush();
  tell_barge_in("tentative");
}

void RealtimeSession::on_turn_event(const TurnEvent& event) {
  using Kind = TurnEvent::Kind;
  if (event.kind == Kind::speech_start) {
    begin_speech(event);
    if (!active_) warm_up(WhenWarm::soon);
    return;
  }
  if (!open_) return;
  HeardItem& utterance = *open_;
  const double now_ms = parts_.now_ms();
  switch (event.kind) {
    case Kind::speech_start:
    case Kind::speech_active:
      return;
    case Kind::speech_pause:
      utterance.speech_end_ms = ms_of(finder_base_ + event.speech_end);
      utterance.trace.mark(Checkpoint::speech_end, utterance.speech_end_ms);
      utterance.trace.mark(Checkpoint::pause, now_ms);
      return dispatch(utterance, SpokenEvent::pause);
    case Kind::speech_resume:
      for (const Checkpoint c : {Checkpoint::speech_end, Checkpoint::pause, Checkpoint::asr_final})
        utterance.trace.clear(c);
      judgement_.reset();
      return dispatch(utterance, SpokenEvent::resume);
    case Kind::speech_end:
    case Kind::blip:
      break;
  }
  utterance.trace.mark_first(Checkpoint::speech_end, ms_of(finder_base_ + event.speech_end));
  utterance.trace.mark(Checkpoint::turn_end, now_ms);
  judgement_.reset();
  events_.send(
      "input_audio_buffer.speech_stopped",
      {{"audio_end_ms", (finder_base_ + event.n_heard) / kHeardPerMs}, {"item_id", utterance.item_id()}});
  closing_.push_back(std::move(open_));
  idle_since_ms_ = now_ms;
  const bool is_blip = event.kind == Kind::blip;
  if (is_blip && doubt_since_ms_) {
    doubt_since_ms_.reset();
    tell_barge_in("dismissed");
    if (active_) active_->unhush();
    if (clock_) clock_->unhush();
  }
  dispatch(utterance, is_blip ? SpokenEvent::blip : SpokenEvent::end);
}

void RealtimeSession::end_speech_now() {
  if (!finder_ || !open_) return;
  finder_->end([this](const TurnEvent& event) { on_turn_event(event); },
               [this](std::span<const float> speech, int64_t) { on_speech_sound(speech); });
}

void RealtimeSession::dispatch(HeardItem& utterance, SpokenEvent event) {
  const SpokenMove move = next_move(utterance.state, event);
  utterance.state = move.state;
  for (const SpokenAction action : move.actions) act(utterance, action);
}

void RealtimeSession::act(HeardItem& utterance, SpokenAction action) {
  switch (action) {
    case SpokenAction::transcribe:
      return utterance.pause();
    case SpokenAction::go_on:
      return utterance.go_on();
    case SpokenAction::draft:
      return draft_answer(utterance);
    case SpokenAction::drop_draft:
      return drop_draft();
    case SpokenAction::commit:
      return commit_item(utterance);
    case SpokenAction::tell_none:
      utterance.take_no_words();
      return tell_transcript(utterance);
    case SpokenAction::tell_text:
      return tell_transcript(utterance);
    case SpokenAction::answer:
      return answer_turn(utterance);
  }
}

std::string RealtimeSession::sound_of(const std::vector<float>& samples) const {
  std::string bytes;
  if (auto encoding = SoundEncoding::create(settings_.input, kMelSampleRateHz)) {
    (void)encoding->push(samples, bytes);
    (void)encoding->finish(bytes);
  }
  return bytes;
}

void RealtimeSession::commit_item(HeardItem& utterance) {
  Item item;
  item.id = utterance.item_id();
  ItemPart part;
  part.is_sound = true;
  part.has_text = false;
  part.sound = std::make_shared<const std::string>(sound_of(utterance.samples()));
  item.parts.push_back(std::move(part));
  const auto before = items_.last();
  const bool is_drafted = is_draft_of(utterance);
  utterance.is_committed = true;
  if (const auto inserted = items_.insert(item); !inserted) {
    // There is no room for more: the client is told, and the turn is nobody's.
    events_.error(inserted.error(), {});
    utterance.state = SpokenState::over;
  }
  if (is_drafted) draft_items_ = items_.version();
  events_.send("input_audio_buffer.committed",
               {{"previous_item_id", before ? Json(*before) : Json()}, {"item_id", item.id}});
  tell_item_added(item);
  tell_item_done(item);
}

void RealtimeSession::tell_transcript(HeardItem& utterance) {
  const HeardItem::Told told = utterance.tell_all();
  Item* const item = items_.find(utterance.item_id());
  if (item) {
    for (ItemPart& part : item->parts) {
      if (part.has_text) continue;
      part.has_text = true;
      // What the model answers, whatever was told too soon.
      part.text = utterance.text().value_or("");
    }
  }
  utterance.trace.mark_first(Checkpoint::asr_final, parts_.now_ms());
  if (doubt_since_ms_ && !open_ && told.all.empty()) {
    doubt_since_ms_.reset();
    tell_barge_in("dismissed");
    if (active_) active_->unhush();
    if (clock_) clock_->unhush();
  }
  if (!utterance.is_transcribed) return;
  if (utterance.failure()) {
    events_.send("conversation.item.input_audio_transcription.failed",
                 {{"item_id", utterance.item_id()},
                  {"content_index", 0},
                  {"error", Json::object({{"type", "server_error"},
                                          {"code", "transcription_failed"},
                                          {"message", utterance.failure()->message},
                                          {"param", Json()}})}});
    return;
  }
  if (!told.rest.empty()) {
    events_.send("conversation.item.input_audio_transcription.delta",
                 {{"item_id", utterance.item_id()}, {"content_index", 0}, {"delta", told.rest}});
  }
  const double seconds = static_cast<double>(utterance.samples().size()) / kMelSampleRateHz;
  Json languages = Json::array();
  if (settings_.transcription && settings_.transcription->language)
    languages.push(Json::object({{"code", *settings_.transcription->language}}));
  events_.send("conversation.item.input_audio_transcription.completed",
               {{"item_id", utterance.item_id()},
                {"content_index", 0},
                {"transcript", told.all},
                {"languages", languages},
                {"usage", Json::object({{"type", "duration"}, {"seconds", seconds}})}});
}

void RealtimeSession::look_at(HeardItem& utterance) {
  if (utterance.state == SpokenState::over) return;
  if (utterance.look()) {
    const Hearing& hearing = utterance.hearing();
    if (!hearing.text.empty()) utterance.trace.mark_first(Checkpoint::asr_first_partial, parts_.now_ms());
    if (settings_.extensions.tells_partial && !hearing.text.empty()) {
      events_.send("parlance.partial", {{"item_id", utterance.item_id()},
                                        {"text", hearing.text},
                                        {"stable", static_cast<int64_t>(hearing.n_stable)}});
    }
    // Without detection nobody knows of the item before it is committed.
    if (utterance.is_transcribed && (finder_ || utterance.is_committed) && !utterance.failure()) {
      if (const std::string delta = utterance.next_stable(); !delta.empty()) {
        events_.send("conversation.item.input_audio_transcription.delta",
                     {{"item_id", utterance.item_id()}, {"content_index", 0}, {"delta", delta}});
      }
    }
  }
  const bool is_awaited = utterance.state == SpokenState::pausing || utterance.state == SpokenState::closing;
  if (!is_awaited || !utterance.text()) return;
  utterance.trace.mark(Checkpoint::asr_final, parts_.now_ms());
  dispatch(utterance, can_be_said(*utterance.text()) ? SpokenEvent::words : SpokenEvent::no_words);
}

std::optional<double> RealtimeSession::semantic_end_ms() const {
  if (!open_ || !finder_ || finder_settings_.detection != TurnSettings::Detection::meaning)
    return std::nullopt;
  if (open_->state != SpokenState::ready) return std::nullopt;
  const auto probability = judgement_ ? judgement_->probability() : std::nullopt;
  if (!probability) return std::nullopt;
  return open_->speech_end_ms + semantic_silence_ms(*probability, eagerness_of(finder_settings_.eagerness));
}

// Whether the words so far are all of a turn is asked as soon as they are known; the silence that ends it
// goes by the answer.
void RealtimeSession::judge_end() {
  if (!open_ || !finder_ || finder_settings_.detection != TurnSettings::Detection::meaning) return;
  if (open_->state == SpokenState::ready && open_->text() && *open_->text() != judged_text_) {
    judged_text_ = *open_->text();
    judgement_ = parts_.judge_end(chat_of(terms_of_session(), items_.all(), judged_text_), wake_);
  }
  const auto end_ms = semantic_end_ms();
  if (end_ms && parts_.now_ms() >= *end_ms) end_speech_now();
}

// Nobody has spoken for a while: the model is asked to.
std::optional<double> RealtimeSession::idle_at_ms() const {
  const auto& timeout = settings_.turns.idle_timeout_ms;
  const bool is_quiet = !open_ && !active_ && closing_.empty() && idle_since_ms_ &&
                        settings_.kind == SessionKind::conversation && !is_draining_;
  if (!is_quiet || !timeout || settings_.turns.detection != TurnSettings::Detection::silence)
    return std::nullopt;
  double since_ms = *idle_since_ms_;
  if (clock_ && !clock_->is_drained())
    since_ms = std::max(since_ms, parts_.now_ms() + clock_->wait_ms().value_or(0));
  return since_ms + static_cast<double>(*timeout);
}

void RealtimeSession::look_at_idle() {
  if (clock_ && !clock_->is_drained() && idle_since_ms_) idle_since_ms_ = parts_.now_ms();
  const auto at_ms = idle_at_ms();
  if (!at_ms || parts_.now_ms() < *at_ms) return;
  idle_since_ms_.reset();
  Item item;
  item.id = random_id("item_");
  ItemPart part;
  part.is_sound = true;
  item.parts.push_back(part);
  const auto before = items_.last();
  const int64_t end_ms = n_heard_ / kHeardPerMs;
  events_.send("input_audio_buffer.timeout_triggered",
               {{"audio_start_ms", std::max<int64_t>(0, end_ms - *settings_.turns.idle_timeout_ms)},
                {"audio_end_ms", end_ms},
                {"item_id", item.id}});
  if (!items_.insert(item)) return;
  events_.send("input_audio_buffer.committed",
               {{"previous_item_id", before ? Json(*before) : Json()}, {"item_id", item.id}});
  tell_item_added(item);
  tell_item_done(item);
  if (settings_.turns.creates_response) start_answer(new_response(terms_of_session()));
}

}  // namespace parlance
