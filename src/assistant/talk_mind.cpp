#include "assistant/talk_mind.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace parlance {

// The beginning of all prompts is computed before anybody waits for it. An error comes again with a question.
TalkMind::TalkMind(Session& session, const MindOptions& options, Inbox& inbox, TalkClock clock)
    : session_(session),
      options_(options),
      inbox_(inbox),
      clock_(std::move(clock)),
      conversation_(session, options.system, options.has_thinking) {
  options_.generate.work.priority = Priority::realtime;
  std::vector<Message> messages;
  if (!options_.system.empty()) messages.push_back({"system", options_.system});
  messages.push_back({"user", "Hello"});
  auto tokens = prompt_tokens(session_.model(), messages, options_.has_thinking);
  if (tokens) prepare(*std::move(tokens), source_.ticket());
}

TalkMind::~TalkMind() {
  source_.cancel();
}

void TalkMind::ask(uint64_t reply, const std::string& question) {
  take({Wish::ask, reply, question, source_.ticket()});
}

// What cannot be judged is told of at once, and no reason to end the conversation.
bool TalkMind::judge(uint64_t pause, const std::string& words) {
  judgement_.reset();
  auto prompt = end_of_turn_prompt(session_.model(), said_before(), words, options_.has_thinking);
  if (!prompt || !*prompt) return false;
  auto asked = EndOfTurnRequest::start(session_.shared_context(), **prompt,
                                       {.cancellation = source_.ticket(), .priority = Priority::realtime},
                                       [this] { inbox_.notify(*this); });
  if (!asked) return false;
  judgement_ = *std::move(asked);
  judged_pause_ = pause;
  return true;
}

// The conversation without what is being answered, or is to be forgotten.
std::vector<Message> TalkMind::said_before() const {
  std::vector<Message> messages = conversation_.seen();
  const auto forget = [&](std::string_view role) {
    if (!messages.empty() && messages.back().role == role) messages.pop_back();
  };
  const bool is_dropped = std::ranges::any_of(
      orders_, [&](const Order& order) { return order.wish == Wish::drop && order.reply == remembered_; });
  if (answering_) {
    forget("user");
  } else if (is_dropped) {
    forget("assistant");
    forget("user");
  }
  return messages;
}

void TalkMind::take_judgement() {
  if (!judgement_ || !judgement_->poll()) return;
  const auto probability = judgement_->probability();
  judgement_.reset();
  if (probability) tell(TurnJudged{judged_pause_, *probability, clock_()});
}

void TalkMind::drop(uint64_t reply) {
  source_.cancel();
  take({Wish::drop, reply, {}});
}

void TalkMind::cut(uint64_t reply, const std::string& heard) {
  source_.cancel();
  take({Wish::cut, reply, heard});
}

void TalkMind::take(Order order) {
  orders_.push_back(std::move(order));
  advance();
}

void TalkMind::report(std::vector<TalkMessage>& news) {
  take_judgement();
  advance();
  std::ranges::move(news_, std::back_inserter(news));
  news_.clear();
}

void TalkMind::tell(TalkMessage message) {
  news_.push_back(std::move(message));
  inbox_.notify(*this);
}

// As far as it goes without waiting.
void TalkMind::advance() {
  for (;;) {
    if (request_) {
      const bool has_ended = request_->has_ended();  // if so, no piece comes behind those that there are
      take_pieces();
      if (!has_ended) return;
      end_answer();
    } else if (!orders_.empty()) {
      const Order order = std::move(orders_.front());
      orders_.pop_front();
      fulfil(order);
    } else {
      return;
    }
  }
}

void TalkMind::fulfil(const Order& order) {
  if (order.wish == Wish::ask) return begin_answer(order);
  if (order.reply != remembered_) return;
  if (order.wish == Wish::drop) conversation_.undo();
  if (order.wish == Wish::cut) conversation_.shorten_answer(order.text);
  remembered_ = 0;
}

void TalkMind::begin_answer(const Order& order) {
  if (order.cancellation.cancelled()) return;
  GenerateOptions options = options_.generate;
  options.work.cancellation = order.cancellation;
  auto prompt = conversation_.begin(order.text, options);
  if (!prompt) return tell(Broken{prompt.error()});
  auto request = Request::start(session_, *std::move(prompt), options, [this] { inbox_.notify(*this); });
  if (!request) {
    (void)conversation_.end(tl::unexpected(request.error()));
    return tell(Broken{request.error()});
  }
  request_ = *std::move(request);
  answering_ = order;
}

void TalkMind::take_pieces() {
  while (const auto piece = request_->poll()) {
    if (!answering_ || piece->text.empty() || answering_->cancellation.cancelled()) continue;
    tell(Thought{answering_->reply, piece->text, clock_()});
  }
}

void TalkMind::end_answer() {
  auto result = request_->result();
  request_.reset();
  if (!answering_) return;  // a prompt that could not be computed is told of by the answer to it
  const Order order = *std::exchange(answering_, std::nullopt);
  const auto answer = conversation_.end(std::move(result));
  if (!answer) return tell(Broken{answer.error()});
  const bool is_kept =
      answer->result.finish_reason != FinishReason::cancelled || !answer->result.text.empty();
  remembered_ = is_kept ? order.reply : 0;
  if (order.cancellation.cancelled()) return;
  tell(ThoughtEnd{order.reply, clock_(), answer->result.draft});
  // A full context is dealt with while the answer is heard. What cannot be done now is done with a question.
  constexpr double kMostShare = 0.6, kLeftShare = 0.3;
  auto prompt = conversation_.make_room(kMostShare, kLeftShare);
  if (prompt && *prompt) prepare(**std::move(prompt), order.cancellation);
}

// Has a prompt computed that the next one will begin like.
void TalkMind::prepare(std::vector<Token> prompt, Cancellation cancellation) {
  GenerateOptions options;
  options.max_tokens = 0;
  // Not in the background: a question may come to wait for it.
  options.work = {.cancellation = std::move(cancellation), .priority = Priority::interactive};
  auto request = Request::start(session_, std::move(prompt), options, [this] { inbox_.notify(*this); });
  if (request) request_ = *std::move(request);
}

}  // namespace parlance
