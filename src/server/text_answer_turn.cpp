// An answer before it begins: its turn in its conversation and of its key, and what was put away of it.
#include <algorithm>

#include "server/text_answer_states.h"

namespace parlance {

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
  const bool waits =
      site_.conversations->restore(conversation_, prompt_, site_.options.conversations.longest_restore,
                                   [self = shared_from_this()](int64_t n_read) {
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

// Refused for want of room: when there may be some.
ApiError TextAnswer::try_later(int status, const char* code, const char* why) {
  const double ahead = static_cast<double>(site_.n_running) / site_.options.models.context.n_seq;
  site_.metrics.add("requests_rejected_total", 1, {{"reason", code}});
  return try_again(status, code, why, std::clamp(ahead * site_.mean_service_s, 1.0, 30.0));
}

}  // namespace parlance
