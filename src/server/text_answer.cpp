#include "server/text_answer.h"

#include <algorithm>
#include <cmath>

#include "bundle/sha256.h"
#include "text/unicode.h"

namespace parlance {

namespace {

using AnswerClock = std::chrono::steady_clock;

// How long an answer waits for what was put away of its conversation; then it is computed again.
constexpr std::chrono::milliseconds kLongestRestore{1500};

double seconds_since(AnswerClock::time_point then) {
  return std::chrono::duration<double>(AnswerClock::now() - then).count();
}

// All answers of one request. The scheduler's thread says that there is news, the threads that put answers
// into words do the rest, one at a time.
class TextAnswer final : public LiveAnswer, public std::enable_shared_from_this<TextAnswer> {
 public:
  TextAnswer(Site& site, Call& call, TextAnswerTerms terms)
      : site_(site),
        terms_(std::move(terms)),
        reply_(call.reply),
        route_(call.route),
        began_(call.request.began),
        notes_(call.request.notes),
        request_id_(call.request.id),
        key_(call.caller ? call.caller->name : ""),
        source_(reply_->ticket()) {}

  ~TextAnswer() override { leave_conversation(); }

  // Begins when it is its turn in its conversation.
  ApiResult<void> enter();
  void tick() override;
  // The client: what waits is of no use any more.
  void on_left();
  void cut() override {
    was_cut_ = true;
    source_.cancel();
    site_.text->context()->scheduler().wake();
    on_news();
  }

 private:
  ApiResult<void> check_number_of_answers();
  ApiResult<void> begin();
  ApiResult<void> recall();
  ApiResult<void> start();
  // What it waited for is there: the next step, unless nobody wants it any more.
  void go_on(ApiResult<void> (TextAnswer::*step)());
  void on_turn() { go_on(&TextAnswer::begin); }
  void on_key_turn() { go_on(&TextAnswer::recall); }
  void on_restored(int64_t n_read);
  void look_at_wait();
  void look_at_listener();
  void note_progress(int64_t n_more);
  ApiError cut_error() const;
  void leave_conversation();
  ApiError try_later(int status, const char* code, const char* why);
  void on_news();
  void pump();
  void take(ChoiceText& choice, AnswerPiece piece);
  void end(ChoiceText& choice, Result<GenerateResult> result);
  void write_end(ChoiceText& choice);
  ApiResult<void> open_mouth();
  bool speak();
  void finish();
  void fail_with(const ApiError& error);
  const char* stage_of(const GenerateResult& cut) const {
    return has_first_token_ ? "decode" : cut.queue_ms > 0 ? "prefill" : "queue";
  }
  void begin_stream();
  void write(std::string text);
  HttpAnswer head() const;
  Json summary() const;
  void count(const ChoiceText& choice);
  void note() const;
  void log_prompts() const;
  void log_answers() const;

  Site& site_;
  TextAnswerTerms terms_;
  const std::shared_ptr<Reply> reply_;
  const std::string route_;
  const AnswerClock::time_point began_;
  const std::shared_ptr<RequestNotes> notes_;
  const std::string request_id_;
  const std::string key_;  // its name; empty: none
  const CancellationSource source_;
  Conversations::Open conversation_;
  std::shared_ptr<std::function<void()>> on_closed_;  // the conversation
  int slot_ = -1;                                     // as the answer names it
  Conversations::Text prompt_;                        // what is put to the model first
  std::atomic<bool> is_posted_{false}, was_cut_{false};

  std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<Request>> requests_;
  std::vector<ChoiceText> choices_;
  std::unique_ptr<SpokenAnswer> spoken_;           // where it is spoken
  size_t n_spoken_ = 0;                            // bytes of the words that it knows
  bool has_started_ = false, is_at_work_ = false;  // in the conversation
  uint64_t turn_ = 0;                              // in the conversation; 0: it has none
  int64_t n_decoded_ = 0;                          // of the first answer
  int64_t n_restored_ = 0;                         // tokens that came from its file
  std::unique_ptr<KeyShares::Lease> lease_;
  bool has_begun_ = false, is_over_ = false, has_deadline_passed_ = false, has_first_token_ = false;
  AnswerClock::time_point last_written_ = AnswerClock::now(), last_token_ = {};
  double ttft_s_ = 0;
};

ApiResult<void> TextAnswer::enter() {
  const std::lock_guard lock(mutex_);
  if (is_over_) return {};  // the server ends, and has said so
  PARLANCE_API_CHECK(check_number_of_answers());
  lease_ = site_.key_shares.take(key_, std::ssize(terms_.prompts) * terms_.n);
  if (!lease_) {
    is_over_ = true;
    return tl::unexpected(try_later(429, "key_limit_exceeded",
                                    "as many requests of this key run and wait as may; try again later"));
  }
  Conversations& all = *site_.conversations;
  const bool is_conversation = !terms_.conversation.id.empty();
  conversation_ = all.open(terms_.conversation, terms_.slot,
                           terms_.lifetime.value_or(is_conversation ? Lifetime::lasting : Lifetime::brief));
  if (terms_.lifetime) conversation_->set_lifetime(*terms_.lifetime);
  if (!terms_.conversation.key.empty()) slot_ = conversation_->slot;
  prompt_ = std::make_shared<ConversationText>(
      ConversationText{terms_.prompts.front(), terms_.generate.work.sharing});
  if (is_conversation) {
    on_closed_ = std::make_shared<std::function<void()>>([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->cut();
    });
    conversation_->when_closed(on_closed_);
    const auto entry = conversation_->enter(
        [self = shared_from_this()] { self->site_.answers.post([self] { self->on_turn(); }); });
    if (entry.outcome == OpenConversation::Entry::Outcome::refused) {
      is_over_ = true;
      return tl::unexpected(
          try_again(409, "conversation_busy",
                    fmt::format("{} requests of this conversation wait already; send one after the other",
                                OpenConversation::kMostWaiting),
                    std::clamp(site_.mean_service_s.load(), 0.1, 30.0)));
    }
    turn_ = entry.id;
    if (entry.outcome == OpenConversation::Entry::Outcome::waits) return {};
  }
  return begin();
}

// What there is never room for, however long it waits, is the client's to change.
ApiResult<void> TextAnswer::check_number_of_answers() {
  const int64_t n = std::ssize(terms_.prompts) * terms_.n;
  const auto& context = site_.options.models.context;
  const int64_t most_of_all = context.n_seq + context.n_waiting;
  const int64_t most_of_key = site_.key_shares.most_at_once().value_or(most_of_all);
  if (n <= std::min(most_of_all, most_of_key)) return {};
  is_over_ = true;
  const bool is_of_key = most_of_key < most_of_all;
  return refuse("invalid_value", terms_.prompts.size() > 1 ? "prompt" : "n",
                "the request asks for {} answers at once, and {} {} at most; send several with fewer each", n,
                is_of_key ? "a key may have" : "this server takes", std::min(most_of_all, most_of_key));
}

// The conversation is its own now.
ApiResult<void> TextAnswer::begin() {
  const bool is_turn_of_key = lease_->begin(
      [self = shared_from_this()] { self->site_.answers.post([self] { self->on_key_turn(); }); });
  return is_turn_of_key ? recall() : ApiResult<void>();
}

// What was put away of the conversation is read first.
ApiResult<void> TextAnswer::recall() {
  site_.conversations->take_slot(conversation_);
  const bool waits = site_.conversations->restore(
      conversation_, prompt_, kLongestRestore, [self = shared_from_this()](int64_t n_read) {
        self->site_.answers.post([self, n_read] { self->on_restored(n_read); });
      });
  return waits ? ApiResult<void>() : start();
}

void TextAnswer::go_on(ApiResult<void> (TextAnswer::*step)()) {
  const std::lock_guard lock(mutex_);
  if (!is_over_) look_at_wait();
  if (is_over_) return;
  if (const auto done = (this->*step)(); !done) fail_with(done.error());
  if (is_over_) leave_conversation();
}

void TextAnswer::on_restored(int64_t n_read) {
  {
    const std::lock_guard lock(mutex_);
    n_restored_ = n_read;
  }
  go_on(&TextAnswer::start);
}

// Nobody computes for it yet, so nobody else sees that it is of no use any more.
void TextAnswer::look_at_wait() {
  if (reply_->ticket().cancelled()) {
    is_over_ = true;
    lease_.reset();
    site_.metrics.add("requests_finished_total", 1, {{"kind", "text"}, {"reason", "cancelled"}});
    note_cancelled(site_, *reply_, "queue");
    reply_->break_off();
  } else if (was_cut_) {
    fail_with(cut_error());
  } else if (terms_.generate.work.deadline && AnswerClock::now() >= *terms_.generate.work.deadline) {
    fail_with(api_error({ErrorCode::timed_out,
                         "the conversation or the key was busy until the time was over; allow more, or send "
                         "one request after the other"}));
  }
  if (is_over_) leave_conversation();
}

// It is written, and spoken to somebody who may have left meanwhile.
void TextAnswer::look_at_listener() {
  if (reply_->ticket().cancelled()) {
    is_over_ = true;
    note_cancelled(site_, *reply_, "tts");
    reply_->break_off();
  } else if (was_cut_) {
    fail_with(cut_error());
  }
}

// Why it was cut.
ApiError TextAnswer::cut_error() const {
  if (!conversation_ || !conversation_->is_closed())
    return try_again(503, "server_shutting_down", "this server is about to end; ask another one", 1);
  return {.status = 409,
          .code = "conversation_closed",
          .message = "somebody has closed the conversation while this was asked of it",
          .fields = {{"x-should-retry", "false"}}};
}

// Somebody else's turn; what was computed is remembered as the conversation's text.
void TextAnswer::leave_conversation() {
  if (std::exchange(is_at_work_, false)) {
    const bool is_kept = !prompt_->sharing.is_off;
    auto text = std::make_shared<ConversationText>(*prompt_);
    const auto& said = choices_.front().result.tokens;
    text->tokens.insert(text->tokens.end(), said.begin(), said.end());
    conversation_->end(is_kept ? std::move(text) : nullptr);
  }
  if (turn_ != 0) conversation_->leave(std::exchange(turn_, 0));
}

ApiResult<void> TextAnswer::start() {
  const auto self = shared_from_this();
  has_started_ = true;
  PARLANCE_API_CHECK(open_mouth());
  if (site_.options.logs_content) log_prompts();
  const size_t n_all = terms_.prompts.size() * static_cast<size_t>(terms_.n);
  choices_.resize(n_all);
  for (size_t i = 0; i < n_all; ++i) {
    choices_[i].index = static_cast<int>(i);
    GenerateOptions options = terms_.generate;
    options.sampling.seed += i;
    options.work.cancellation = source_.ticket();
    const size_t prompt = i / static_cast<size_t>(terms_.n);
    choices_[i].result.n_prompt = std::ssize(terms_.prompts[prompt]);
    choices_[i].is_first_of_prompt = i % static_cast<size_t>(terms_.n) == 0;
    if (terms_.reader) choices_[i].reader.emplace(*terms_.reader);
    if (terms_.is_one_call) choices_[i].n_most_calls = 1;
    if (!terms_.echoes.empty()) {
      choices_[i].add({.text = terms_.echoes[prompt], .tokens = {}});
      choices_[i].n_echo = count_code_points(terms_.echoes[prompt]);
    }
    auto request =
        Request::start(site_.text->context(), terms_.prompts[prompt], options, [self] { self->on_news(); });
    if (!request) {
      is_over_ = true;
      source_.cancel();
      requests_.clear();
      spoken_.reset();
      if (request.error().code != ErrorCode::busy) return tl::unexpected(api_error(request.error()));
      return tl::unexpected(
          try_later(503, "server_overloaded", "as many requests wait as may; try again later"));
    }
    requests_.push_back(*std::move(request));
  }
  site_.n_running += static_cast<int64_t>(n_all);
  is_at_work_ = true;
  conversation_->begin(prompt_->sharing.is_off ? nullptr : prompt_);
  return {};
}

ApiResult<void> TextAnswer::open_mouth() {
  if (!terms_.spoken) return {};
  is_over_ = true;  // unless there is a mouth
  PARLANCE_API_TRY(auto region, site_.regions.tts.acquire());
  // As long as it is spoken the answer stays, also when all is written.
  PARLANCE_API_TRY(spoken_, SpokenAnswer::open(std::move(region), *terms_.spoken,
                                               [self = shared_from_this()] { self->on_news(); }));
  is_over_ = false;
  return {};
}

// What was written goes to the mouth, and what it has said to the client; whether it has said all of it.
bool TextAnswer::speak() {
  if (!spoken_) return true;
  ChoiceText& choice = choices_.front();
  spoken_->add(std::string_view(choice.words).substr(n_spoken_));
  n_spoken_ = choice.words.size();
  if (choice.has_finished()) spoken_->finish();
  if (terms_.is_streamed && reply_->n_unsent() > Reply::kMuchUnsent && !reply_->ticket().cancelled()) {
    reply_->when_taken([self = shared_from_this()] { self->on_news(); });
    return false;
  }
  const auto sound = spoken_->take();
  if (!sound) {
    fail_with(api_error(sound.error()));
    return false;
  }
  choice.n_sound_frames = spoken_->n_frames();
  if (!sound->empty() && terms_.is_streamed) {
    begin_stream();
    write(terms_.writer->next_sound(choice, *sound));
  } else {
    choice.sound += *sound;
  }
  if (!spoken_->has_ended()) return false;
  if (terms_.spoken->format == SoundFormat::wav) tell_wav_length(choice.sound, kSpeechRateHz);
  if (terms_.is_streamed) write_end(choice);
  return true;
}

// Refused for want of room: when there may be some.
ApiError TextAnswer::try_later(int status, const char* code, const char* why) {
  const double ahead = static_cast<double>(site_.n_running) / site_.options.models.context.n_seq;
  site_.metrics.add("requests_rejected_total", 1, {{"reason", code}});
  return try_again(status, code, why, std::clamp(ahead * site_.mean_service_s, 1.0, 30.0));
}

void TextAnswer::on_news() {
  if (is_posted_.exchange(true)) return;
  site_.answers.post([self = shared_from_this()] { self->pump(); });
}

void TextAnswer::pump() {
  is_posted_ = false;
  std::vector<std::unique_ptr<Request>> ended;  // go when the lock is free
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  if (!has_started_) return look_at_wait();
  for (size_t i = 0; i < requests_.size() && !is_over_; ++i) {
    Request* const request = requests_[i].get();
    if (!request) continue;
    const bool has_ended = request->has_ended();
    bool is_stuck = false;
    for (;;) {
      is_stuck =
          terms_.is_streamed && reply_->n_unsent() > Reply::kMuchUnsent && !reply_->ticket().cancelled();
      if (is_stuck) break;
      auto piece = request->poll();
      if (!piece) break;
      take(choices_[i], *std::move(piece));
    }
    if (is_stuck) {
      reply_->when_taken([self = shared_from_this()] { self->on_news(); });
    } else if (has_ended) {
      end(choices_[i], request->result());
      ended.push_back(std::move(requests_[i]));
      --site_.n_running;
    }
  }
  const bool is_written =
      std::all_of(requests_.begin(), requests_.end(), [](const auto& one) { return !one; });
  if (is_written && !is_over_ && spoken_) look_at_listener();
  if (!is_over_ && speak() && is_written) finish();
  if (!is_over_) return;
  spoken_.reset();
  leave_conversation();
  lease_.reset();
  source_.cancel();  // what is left where one of several has failed
  for (auto& request : requests_) {
    if (!request) continue;
    ended.push_back(std::move(request));
    --site_.n_running;
  }
}

// What GET /slots says of it meanwhile.
void TextAnswer::note_progress(int64_t n_more) {
  n_decoded_ += n_more;
  const int64_t n_cached = choices_.front().result.n_prompt_cached;
  conversation_->progress(n_cached, n_decoded_,
                          std::max<int64_t>(0, terms_.generate.max_tokens - n_decoded_));
}

void TextAnswer::take(ChoiceText& choice, AnswerPiece piece) {
  const auto now = AnswerClock::now();
  if (!piece.tokens.empty()) {
    if (!has_first_token_) {
      has_first_token_ = true;
      ttft_s_ = seconds_since(began_);
      site_.metrics.observe("time_to_first_token_seconds", ttft_s_, {{"class", terms_.class_name}});
    } else {
      site_.metrics.observe("inter_token_seconds", std::chrono::duration<double>(now - last_token_).count(),
                            {{"class", terms_.class_name}});
    }
    last_token_ = now;
    if (choice.index == 0) note_progress(std::ssize(piece.tokens));
  }
  if (piece.verification) {
    site_.metrics.observe("draft_accepted_length", static_cast<double>(piece.verification->accepted.size()));
  }
  choice.add(std::move(piece));
  if (!terms_.is_streamed || !choice.has_unsent()) return;
  begin_stream();
  while (choice.has_unsent()) write(terms_.writer->next(choice));
}

void TextAnswer::end(ChoiceText& choice, Result<GenerateResult> result) {
  if (!result && result.error().code == ErrorCode::timed_out && has_first_token_) {
    has_deadline_passed_ = true;
    choice.finish("length");
  } else if (!result) {
    return fail_with(api_error(result.error()));
  } else if (result->finish_reason == FinishReason::cancelled && !was_cut_) {  // the client has left
    is_over_ = true;
    site_.metrics.add("requests_finished_total", 1, {{"kind", "text"}, {"reason", "cancelled"}});
    note_cancelled(site_, *reply_, stage_of(*result));
    return reply_->break_off();
  } else if (result->finish_reason == FinishReason::cancelled) {
    return fail_with(cut_error());
  } else {
    choice.finish(result->finish_reason == FinishReason::stop ? "stop" : "length");
  }
  if (result) {
    choice.result = *std::move(result);
    count(choice);
    if (choice.index == 0) note_progress(0);
  }
  if (!terms_.is_streamed) return;
  begin_stream();
  while (choice.has_unsent()) write(terms_.writer->next(choice));
  if (!spoken_) write_end(choice);
}

void TextAnswer::write_end(ChoiceText& choice) {
  write(terms_.writer->end(choice, choices_, summary()));
}

void TextAnswer::finish() {
  is_over_ = true;
  lease_.reset();  // before the client knows, who may ask again at once
  note();
  if (site_.options.logs_content) log_answers();
  leave_conversation();  // likewise
  const double service_s = seconds_since(began_);
  site_.mean_service_s =
      site_.mean_service_s == 0 ? service_s : site_.mean_service_s * 63 / 64 + service_s / 64;
  if (!terms_.is_streamed) {
    HttpAnswer answer = head();
    answer.fields.push_back({"content-type", "application/json; charset=utf-8"});
    answer.body = terms_.writer->whole(choices_, summary()).line();
    reply_->send(std::move(answer));
    return;
  }
  write(terms_.writer->finish(choices_, summary()));
  reply_->end();
}

// Before the head: an answer of its own; behind it a part of the stream.
void TextAnswer::fail_with(const ApiError& error) {
  is_over_ = true;
  lease_.reset();
  site_.metrics.add("requests_finished_total", 1, {{"kind", "text"}, {"reason", error.code}});
  if (!has_begun_) return reply_->send(answer_of(error));
  write(terms_.writer->failure(error));
  reply_->end();
}

HttpAnswer TextAnswer::head() const {
  HttpAnswer answer;
  if (const std::string ignored = ignored_text(terms_.ignored); !ignored.empty()) {
    answer.fields.push_back({"x-parlance-ignored", ignored});
  }
  if (site_.options.takes_any_model) answer.fields.push_back({"x-parlance-model", terms_.model});
  if (!terms_.note.empty()) answer.fields.push_back({"x-parlance-note", terms_.note});
  return answer;
}

void TextAnswer::begin_stream() {
  if (has_begun_) return;
  has_begun_ = true;
  HttpAnswer answer = head();
  answer.fields.push_back({"content-type", std::string(terms_.writer->stream_type())});
  answer.fields.push_back({"x-accel-buffering", "no"});
  reply_->begin(std::move(answer));
  write(terms_.writer->begin(choices_));
}

void TextAnswer::write(std::string text) {
  last_written_ = AnswerClock::now();
  if (!text.empty()) reply_->write(std::move(text));
}

void TextAnswer::on_left() {
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  if (!has_started_) return look_at_wait();
  for (const auto& request : requests_) {
    if (request) request->withdraw();
  }
  if (spoken_) on_news();
}

void TextAnswer::tick() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  if (!has_started_ && !is_over_) return look_at_wait();
  if (!terms_.is_streamed || is_over_ || requests_.empty()) return;
  if (AnswerClock::now() - last_written_ < site_.options.ping_time) return;
  begin_stream();
  write(terms_.writer->keep_alive());
}

// The member "parlance".
Json TextAnswer::summary() const {
  Json json = Json::object(
      {{"conversation_id", terms_.conversation.id.empty() ? Json() : Json(terms_.conversation.id)},
       {"slot", slot_},
       {"seed", static_cast<int64_t>(terms_.generate.sampling.seed)},
       {"class", terms_.class_name},
       {"queue_ms", choices_.front().result.queue_ms},
       {"ttft_ms", 1000 * ttft_s_}});
  if (has_deadline_passed_) json.set("deadline", true);
  if (!terms_.input_transcripts.empty()) {
    Json transcripts = Json::array();
    for (const std::string& words : terms_.input_transcripts) transcripts.push(words);
    json.set("input_transcripts", transcripts);
  }
  return json;
}

void TextAnswer::count(const ChoiceText& choice) {
  const GenerateResult& result = choice.result;
  Metrics& m = site_.metrics;
  const auto n_prompt = static_cast<double>(result.n_prompt),
             n_cached = static_cast<double>(result.n_prompt_cached);
  const double n_said = n_generated(result);
  m.add("requests_finished_total", 1, {{"kind", "text"}, {"reason", name_of(result.finish_reason)}});
  m.observe("queue_seconds", result.queue_ms / 1000, {{"class", terms_.class_name}});
  m.add("prompt_tokens_total", n_prompt);
  const double n_from_file = std::min(static_cast<double>(n_restored_), n_cached);
  m.add("prompt_cached_tokens_total", n_cached - n_from_file, {{"tier", "device"}});
  m.add("prompt_cached_tokens_total", n_from_file, {{"tier", "disk"}});
  m.add("generated_tokens_total", n_said);
  m.add("reasoning_tokens_total", static_cast<double>(choice.n_thought_tokens));
  m.raise("llamacpp:n_tokens_max", n_prompt + n_said);
  m.add("draft_tokens_total", static_cast<double>(result.draft.n_drafted));
  m.add("draft_accepted_tokens_total", static_cast<double>(result.draft.n_accepted));
  m.add("llamacpp:prompt_tokens_total", n_prompt - n_cached);
  m.add("llamacpp:prompt_seconds_total", (result.prefill_ms - result.queue_ms) / 1000);
  m.add("llamacpp:tokens_predicted_total", n_said);
  m.add("llamacpp:tokens_predicted_seconds_total", result.decode_ms / 1000);
  m.add("llamacpp:n_drafted_total", static_cast<double>(result.draft.n_drafted));
  m.add("llamacpp:n_drafted_accepted_total", static_cast<double>(result.draft.n_accepted));
  m.add("llamacpp:spec_decode_num_draft_tokens_total", static_cast<double>(result.draft.n_drafted));
  m.add("llamacpp:spec_decode_num_accepted_tokens_total", static_cast<double>(result.draft.n_accepted));
}

void TextAnswer::log_prompts() const {
  const Tokenizer& tokenizer = site_.text->model().tokenizer();
  for (const auto& prompt : terms_.prompts)
    log_content(site_, request_id_, "prompt", tokenizer.decode(prompt, /*with_special=*/true));
}

void TextAnswer::log_answers() const {
  for (const ChoiceText& choice : choices_) {
    log_content(site_, request_id_, "thoughts", choice.thoughts);
    log_content(site_, request_id_, "answer", choice.words);
    for (const SaidCall& call : choice.calls)
      log_content(site_, request_id_, "call", fmt::format("{} {}", call.name, call.arguments));
  }
}

// For the log.
void TextAnswer::note() const {
  int64_t n_prompt = 0, n_cached = 0, n_said = 0;
  for (const ChoiceText& choice : choices_) {
    n_said += static_cast<int64_t>(n_generated(choice.result));
    if (!choice.is_first_of_prompt) continue;
    n_prompt += choice.result.n_prompt;
    n_cached += choice.result.n_prompt_cached;
  }
  notes_->add("class", terms_.class_name);
  if (!terms_.conversation.id.empty()) {
    // Not the name itself, which may be somebody's.
    const auto bytes = std::as_bytes(std::span(terms_.conversation.id));
    notes_->add("conv", sha256(bytes).substr(0, 8));
  }
  notes_->add("prompt", n_prompt);
  notes_->add("cached", n_cached);
  notes_->add("generated", n_said);
  notes_->add("queue_ms", choices_.front().result.queue_ms);
  notes_->add("ttft_ms", 1000 * ttft_s_);
  notes_->add("finish", choices_.front().finish_reason);
  if (const std::string ignored = ignored_text(terms_.ignored); !ignored.empty())
    notes_->add("ignored", ignored);
}

}  // namespace

ApiResult<void> start_text_answer(Site& site, Call& call, TextAnswerTerms terms) {
  const auto answer = std::make_shared<TextAnswer>(site, call, std::move(terms));
  site.enter(answer);
  PARLANCE_API_CHECK(answer->enter());
  call.reply->when_left([&site, weak = std::weak_ptr(answer)] {
    site.answers.post([weak] {
      if (const auto self = weak.lock()) self->on_left();
    });
  });
  return {};
}

}  // namespace parlance
