#include "assistant/talk_mind.h"

#include <utility>

namespace parlance {

TalkMind::TalkMind(Session& session, const MindOptions& options, Inbox& inbox, TalkClock clock)
    : session_(session),
      options_(options),
      inbox_(inbox),
      clock_(std::move(clock)),
      conversation_(session, options.system, options.has_thinking) {
  thread_ = std::thread([this] { run(); });
}

TalkMind::~TalkMind() {
  source_.cancel();
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  has_orders_.notify_one();
  thread_.join();
}

void TalkMind::ask(uint64_t reply, const std::string& question) {
  send({Wish::ask, reply, question, source_.ticket()});
}

void TalkMind::drop(uint64_t reply) {
  source_.cancel();
  send({Wish::drop, reply, {}});
}

void TalkMind::cut(uint64_t reply, const std::string& heard) {
  source_.cancel();
  send({Wish::cut, reply, heard});
}

void TalkMind::send(Order order) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
  }
  has_orders_.notify_one();
}

void TalkMind::run() {
  warm_up();
  std::unique_lock lock(mutex_);
  for (;;) {
    has_orders_.wait(lock, [&] { return is_over_ || !orders_.empty(); });
    if (is_over_) return;
    const Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    if (order.wish == Wish::ask) {
      answer(order);
    } else if (order.reply == remembered_) {
      if (order.wish == Wish::drop) conversation_.undo();
      if (order.wish == Wish::cut) conversation_.shorten_answer(order.text);
      remembered_ = 0;
    }
    lock.lock();
  }
}

// The beginning of all prompts is computed before anybody waits for it. An error comes again with a question.
void TalkMind::warm_up() {
  std::vector<Message> messages;
  if (!options_.system.empty()) messages.push_back({"system", options_.system});
  messages.push_back({"user", "Hello"});
  const auto tokens = prompt_tokens(session_.model(), messages, options_.has_thinking);
  if (tokens) (void)session_.set_prompt(*tokens, {.cancellation = warm_up_});
}

void TalkMind::answer(const Order& order) {
  if (order.cancellation.cancelled()) return;
  GenerateOptions options = options_.generate;
  options.work.cancellation = order.cancellation;
  const auto answer = conversation_.ask(order.text, options, [&](std::string_view text) {
    inbox_.post(Thought{order.reply, std::string(text), clock_()});
  });
  if (!answer && answer.error().code != ErrorCode::cancelled) {
    inbox_.post(Broken{answer.error()});
    return;
  }
  const bool is_kept =
      answer && !(answer->result.finish_reason == FinishReason::cancelled && answer->result.text.empty());
  remembered_ = is_kept ? order.reply : 0;
  if (order.cancellation.cancelled()) return;
  inbox_.post(ThoughtEnd{order.reply, clock_()});
  // A full context is dealt with while the answer is heard. What cannot be done now is done with a question.
  constexpr double kMostShare = 0.6, kLeftShare = 0.3;
  (void)conversation_.make_room(kMostShare, kLeftShare, options.work);
}

}  // namespace parlance
