// How a session answers: who may, with what context, and what ends it.
#include <algorithm>

#include "base/random_id.h"
#include "realtime/session.h"
#include "text/unicode.h"
#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

constexpr int64_t kSpokenPerMs = kSpeechRateHz / 1000;

// {type, name, …} -> {type, function: {name, …}}
Json chat_tools_of(const Json& tools) {
  Json list = Json::array();
  const auto elements = tools.elements().value_or(std::vector<Json>());
  for (const Json& tool : elements) {
    Json function = Json::object();
    const auto members = tool.members().value_or(std::vector<std::pair<std::string, Json>>());
    for (const auto& [name, value] : members) {
      if (name != "type") function.set(name, value);
    }
    list.push(Json::object({{"type", "function"}, {"function", function}}));
  }
  return list;
}

Json chat_choice_of(const Json& choice) {
  if (!choice.is_object()) return choice;
  return Json::object(
      {{"type", "function"}, {"function", Json::object({{"name", choice.member("name").value_or(Json())}})}});
}

}  // namespace

ResponseTerms RealtimeSession::terms_of_session() const {
  ResponseTerms terms;
  terms.settings = settings_;
  terms.conversation_id = conversation_id_;
  return terms;
}

RealtimeSession::Response RealtimeSession::new_response(ResponseTerms terms) {
  return std::make_unique<LiveResponse>(std::move(terms), parts_, events_, *this, wake_);
}

bool RealtimeSession::awaits_text(std::span<const Item> items) const {
  return std::any_of(items.begin(), items.end(), [](const Item& item) { return item.awaits_text(); });
}

// The model answers somebody: where nobody has said anything, it is put an empty message.
Json RealtimeSession::chat_of(const ResponseTerms& terms, std::span<const Item> items,
                              const std::string& more_said) const {
  Json messages = chat_messages_of(terms.settings.instructions, items);
  const auto elements = messages.elements();
  const std::string last = elements->empty() ? "" : elements->back().member("role")->text().value_or("");
  if (!more_said.empty() || (last != "user" && last != "tool"))
    messages.push(Json::object({{"role", "user"}, {"content", more_said}}));
  Json chat = chat_with(terms.settings, messages);
  if (terms.conversation_id) name_conversation(chat);
  return chat;
}

// What was put away of a conversation is found under the name that its client has given it.
void RealtimeSession::name_conversation(Json& chat) const {
  if (!terms_.conversation_id.empty()) chat.set("session_id", terms_.conversation_id);
}

Json RealtimeSession::chat_with(const SessionSettings& s, const Json& messages) const {
  Json chat = Json::object({{"messages", messages}});
  if (!s.tools.elements()->empty()) {
    chat.set("tools", chat_tools_of(s.tools)).set("tool_choice", chat_choice_of(s.tool_choice));
    chat.set("parallel_tool_calls", s.has_parallel_calls);
  }
  if (s.n_most_tokens) chat.set("max_tokens", *s.n_most_tokens);
  if (!s.effort.empty()) chat.set("reasoning_effort", s.effort);
  if (s.temperature) chat.set("temperature", *s.temperature);
  return chat;
}

// A conversation that is too long for the context loses its oldest items, so many at once that the next turns
// find room and the beginning of the prompt stays what it was.
RealtimeResult<Json> RealtimeSession::chat_for(const LiveResponse& response, const std::string& more_said) {
  const ResponseTerms& terms = response.terms();
  const bool is_own_input = terms.input.has_value();
  const std::span<const Item> all = is_own_input ? std::span<const Item>(*terms.input) : items_.all();
  size_t first = is_own_input ? 0 : std::min(n_left_out_, all.size());
  const TruncationSettings& rule = terms.settings.truncation;
  const int64_t n_ctx = parts_.n_ctx();
  const int64_t n_most = n_ctx - std::min<int64_t>(1024, n_ctx / 4);
  const auto chat_from = [&](size_t begin) { return chat_of(terms, all.subspan(begin), more_said); };
  Json chat = chat_from(first);
  // A token has a byte at least, and what stands around a message some more.
  constexpr size_t kAroundMessage = 32;
  const size_t n_likely = chat.line().size() + kAroundMessage * (all.size() - first + 1);
  if (static_cast<int64_t>(n_likely) <= n_most && !rule.n_most_tokens) return chat;
  PARLANCE_EVENT_TRY(const int64_t n_tokens, parts_.count(chat));
  PARLANCE_EVENT_TRY(const int64_t n_around, parts_.count(chat_of(terms, {}, more_said)));
  const int64_t n_limit = std::min(n_most - n_around, rule.n_most_tokens.value_or(n_most));
  if (n_tokens - n_around <= n_limit) return chat;
  if (rule.rule == TruncationSettings::Rule::disabled) {
    return reject(
        "context_length_exceeded", {},
        "the conversation has {} tokens and the context holds {} with room for an answer; delete items "
        "or allow truncation",
        n_tokens, n_most);
  }
  const auto n_left = static_cast<int64_t>(rule.ratio * static_cast<double>(n_limit));
  std::vector<size_t> beginnings = possible_beginnings(all);
  std::erase_if(beginnings, [&](size_t begin) { return begin <= first; });
  // The first beginning with which the rest is short enough; shorter and shorter.
  size_t low = 0, high = beginnings.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    PARLANCE_EVENT_TRY(const int64_t n, parts_.count(chat_from(beginnings[middle])));
    if (n - n_around <= n_left) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (low == beginnings.size() && low > 0) --low;  // the last turn alone, however long it is
  if (low < beginnings.size()) first = beginnings[low];
  if (!is_own_input) n_left_out_ = first;
  return chat_from(first);
}

// What will be answered next begins with instructions, tools and the items that there are.
void RealtimeSession::warm_up(WhenWarm when) {
  if (settings_.kind == SessionKind::transcription || awaits_text(items_.all())) return;
  const std::span<const Item> all = items_.all();
  const Json messages =
      chat_messages_of(settings_.instructions, all.subspan(std::min(n_left_out_, all.size())));
  if (messages.elements()->empty()) return;
  Json chat = chat_with(settings_, messages);
  name_conversation(chat);
  warming_ = parts_.warm(chat, when, wake_);
}

void RealtimeSession::try_to_ask(LiveResponse& response) {
  if (response.state() != LiveResponse::State::waiting) return;
  const bool is_own_input = response.terms().input.has_value();
  if (!is_own_input && awaits_text(items_.all())) return;
  const auto chat = chat_for(response, "");
  if (!chat) return response.fail(chat.error());
  response.ask(*chat);
}

void RealtimeSession::start_answer(Response response) {
  active_ = std::move(response);
  active_->release();
  try_to_ask(*active_);
}

void RealtimeSession::draft_answer(HeardItem& utterance) {
  if (!utterance.creates_response || active_ || is_draining_ || awaits_text(items_.all())) return;
  drop_draft();
  Response response = new_response(terms_of_session());
  const auto chat = chat_for(*response, *utterance.text());
  if (!chat) return;  // said by the response itself
  draft_ = std::move(response);
  draft_item_ = utterance.item_id();
  draft_text_ = *utterance.text();
  draft_items_ = items_.version();
  draft_settings_ = settings_version_;
  draft_->n_drafts = ++utterance.n_drafts;
  draft_->ask(*chat);
}

void RealtimeSession::drop_draft() {
  draft_.reset();
}

bool RealtimeSession::is_draft_of(const HeardItem& utterance) const {
  return draft_ && draft_item_ == utterance.item_id() && draft_items_ == items_.version() &&
         draft_settings_ == settings_version_;
}

void RealtimeSession::answer_turn(HeardItem& utterance) {
  const Item* const item = std::as_const(items_).find(utterance.item_id());
  if (!utterance.creates_response || is_draining_ || !item) return drop_draft();
  if (active_) {
    awaits_answer_ = true;
    return drop_draft();
  }
  const bool is_drafted = is_draft_of(utterance) && draft_text_ == item->all_text();
  Response response = is_drafted ? std::move(draft_) : new_response(terms_of_session());
  drop_draft();
  for (int i = 0; i < kCheckpoints; ++i) {
    const auto checkpoint = static_cast<Checkpoint>(i);
    if (const auto at_ms = utterance.trace.at_ms(checkpoint)) response->trace.mark(checkpoint, *at_ms);
  }
  response->n_drafts = std::max(response->n_drafts, utterance.n_drafts);
  start_answer(std::move(response));
}

// Turns that have ended, of which nothing is answered yet: those whose text is being made, and the one that
// waits for a response to end. False where there are none.
bool RealtimeSession::leave_turns_unanswered() {
  bool is_any = std::exchange(awaits_answer_, false);
  for (const Spoken& turn : closing_) is_any |= std::exchange(turn->creates_response, false);
  if (is_any) filler_.stop();
  return is_any;
}

void RealtimeSession::look_at_answers() {
  if (draft_) draft_->advance();
  if (active_) {
    try_to_ask(*active_);
    active_->advance();
    if (active_->clock()) {
      clock_ = active_->clock();
      clock_item_ = active_->sounding_item();
    }
    if (active_->state() == LiveResponse::State::over) end_answer();
  }
  for (const Response& response : aside_) {
    try_to_ask(*response);
    response->advance();
  }
  std::erase_if(aside_, [](const Response& one) { return one->state() == LiveResponse::State::over; });
  if (is_clock_running_ && clock_ && clock_->is_drained() && !active_) {
    is_clock_running_ = false;
    if (settings_.extensions.has_playback)
      events_.send("output_audio_buffer.stopped", {{"response_id", clock_response_}});
  }
}

// The response is over: what is left of it is its sound, which may still be heard.
void RealtimeSession::end_answer() {
  if (active_->clock()) {
    clock_ = active_->clock();
    clock_item_ = active_->sounding_item();
  }
  const Response ended = std::move(active_);
  note_activity();
  if (doubt_since_ms_ && !clock_) doubt_since_ms_.reset();
  TurnTrace& trace = ended->trace;
  if (!trace.at_ms(Checkpoint::speech_end)) {
    if (const auto start_ms = trace.at_ms(Checkpoint::llm_start))
      trace.mark(Checkpoint::speech_end, *start_ms);
  }
  observer_.on_turn(trace);
  if (settings_.extensions.tells_timing) {
    Json ms = Json::object();
    for (int i = 0; i < kCheckpoints; ++i) {
      const auto checkpoint = static_cast<Checkpoint>(i);
      if (const auto after_ms = trace.after_speech_ms(checkpoint)) ms.set(name_of(checkpoint), *after_ms);
    }
    const auto first_audio = trace.after_speech_ms(Checkpoint::audio_first_played);
    const bool has_sound = ended->clock() != nullptr;
    events_.send("parlance.timing", {{"response_id", ended->id()},
                                     {"item_id", has_sound ? Json(ended->sounding_item()) : Json()},
                                     {"ms", ms},
                                     {"heard_ms", has_sound ? ended->clock()->n_heard() / kSpokenPerMs : 0},
                                     {"spoke_ms", ended->n_samples_sent() / kSpokenPerMs},
                                     {"first_audio_ms", first_audio ? Json(*first_audio) : Json()},
                                     {"drafts", ended->n_drafts},
                                     {"cached_tokens", ended->n_cached()}});
  }
  if (std::exchange(awaits_answer_, false) && !is_draining_) start_answer(new_response(terms_of_session()));
}

void RealtimeSession::tell_barge_in(std::string_view phase) {
  if (settings_.extensions.tells_barge_in) events_.send("parlance.barge_in", {{"phase", phase}});
}

void RealtimeSession::interrupt() {
  doubt_since_ms_.reset();
  awaits_answer_ = false;
  const auto began_ms = open_ ? open_->trace.at_ms(Checkpoint::speech_start) : std::nullopt;
  if (began_ms && ((active_ && active_->has_sound()) || (clock_ && !clock_->is_drained())))
    observer_.on_interrupted(parts_.now_ms() - *began_ms);
  if (active_) {
    active_->trace.mark(Checkpoint::barge_in, parts_.now_ms());
    active_->cancel("turn_detected");
    end_answer();
  }
  cut_what_was_not_heard();
}

void RealtimeSession::cut_what_was_not_heard() {
  if (!clock_) return;
  const int64_t heard_ms = clock_->n_heard() / kSpokenPerMs;
  const bool is_all = clock_->is_drained();
  clock_->stop();
  clock_.reset();
  const auto spoken = spoken_.find(clock_item_);
  const bool is_known = spoken != spoken_.end() && std::as_const(items_).find(clock_item_);
  if (std::exchange(is_clock_running_, false) && settings_.extensions.has_playback)
    events_.send("output_audio_buffer.cleared", {{"response_id", clock_response_}});
  if (is_all || !is_known) return;
  apply_cut(clock_item_, heard_ms);
  events_.send("conversation.item.truncated",
               {{"item_id", clock_item_}, {"content_index", 0}, {"audio_end_ms", heard_ms}});
}

// Something was heard over the answer, which is silent until it is clear what it was.
void RealtimeSession::look_at_barge_in() {
  if (!doubt_since_ms_) return;
  const auto has_words = [](const Spoken& one) { return one && can_be_said(one->hearing().text); };
  const bool is_understood = has_words(open_) || std::any_of(closing_.begin(), closing_.end(), has_words);
  if (!is_understood && parts_.now_ms() - *doubt_since_ms_ < kConfirmMs) return;
  tell_barge_in("confirmed");
  interrupt();
}

void RealtimeSession::add_item(const Item& item) {
  (void)items_.insert(item);
}

void RealtimeSession::change_item(const Item& item) {
  Item* const own = items_.find(item.id);
  if (!own) return;
  *own = item;
  items_.touch();
}

std::optional<std::string> RealtimeSession::item_before(const std::string& item_id) {
  return items_.before(item_id);
}

void RealtimeSession::on_first_audio() {
  filler_.stop();
  has_spoken_ = true;
  is_clock_running_ = true;
  clock_response_ = active_ ? active_->id() : "";
  if (settings_.extensions.has_playback)
    events_.send("output_audio_buffer.started", {{"response_id", clock_response_}});
}

}  // namespace parlance
