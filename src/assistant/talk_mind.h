// The mind of a conversation by voice: answers with a language model and remembers what was said. It has no
// thread: what is computed is requests to the model's scheduler, and the next one begins when the owner asks
// for the news of the last.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "assistant/conversation.h"
#include "assistant/end_of_turn.h"
#include "engine/request.h"
#include "voice/inbox.h"

namespace parlance {

struct MindOptions {
  std::string system;
  bool has_thinking = false;
  GenerateOptions generate;
};

class TalkMind final : public Mind, public TalkPart {
 public:
  // What it uses must outlive it.
  TalkMind(Session& session, const MindOptions& options, Inbox& inbox, TalkClock clock);
  ~TalkMind() override;

  void ask(uint64_t reply, const std::string& question) override;
  bool judge(uint64_t pause, const std::string& words) override;
  void drop(uint64_t reply) override;
  void cut(uint64_t reply, const std::string& heard) override;
  void report(std::vector<TalkMessage>& news) override;

 private:
  enum class Wish : uint8_t { ask, drop, cut };
  struct Order {
    Wish wish;
    uint64_t reply;
    std::string text;
    Cancellation cancellation = {};
  };

  void take(Order order);
  void advance();
  void fulfil(const Order& order);
  void begin_answer(const Order& order);
  void take_pieces();
  void end_answer();
  std::vector<Message> said_before() const;
  void take_judgement();
  void prepare(std::vector<Token> prompt, Cancellation cancellation);
  void tell(TalkMessage message);

  Session& session_;
  MindOptions options_;
  Inbox& inbox_;
  const TalkClock clock_;
  Conversation conversation_;
  uint64_t remembered_ = 0;  // the reply that the conversation ends with

  const CancellationSource source_;              // of all that was asked for
  std::deque<Order> orders_;                     // that wait for the request to end
  std::unique_ptr<Request> request_;             // at work in the session; null: nothing is
  std::optional<Order> answering_;               // what the request answers; none: it only computes a prompt
  std::unique_ptr<EndOfTurnRequest> judgement_;  // beside it; null: none is under way
  uint64_t judged_pause_ = 0;
  std::vector<TalkMessage> news_;
};

}  // namespace parlance
