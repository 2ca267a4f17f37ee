// The mind of a conversation by voice: a thread that answers with a language model and remembers what was
// said.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "assistant/conversation.h"
#include "voice/inbox.h"

namespace parlance {

struct MindOptions {
  std::string system;
  bool has_thinking = false;
  GenerateOptions generate;
};

class TalkMind final : public Mind {
 public:
  // What it uses must outlive it.
  TalkMind(Session& session, const MindOptions& options, Inbox& inbox, TalkClock clock);
  ~TalkMind() override;

  void ask(uint64_t reply, const std::string& question) override;
  void drop(uint64_t reply) override;
  void cut(uint64_t reply, const std::string& heard) override;

 private:
  enum class Wish : uint8_t { ask, drop, cut };
  struct Order {
    Wish wish;
    uint64_t reply;
    std::string text;
    Cancellation cancellation = {};
  };

  void send(Order order);
  void run();
  void warm_up();
  void answer(const Order& order);

  Session& session_;
  MindOptions options_;
  Inbox& inbox_;
  const TalkClock clock_;
  Conversation conversation_;
  uint64_t remembered_ = 0;          // the reply that the conversation ends with
  const CancellationSource source_;  // of all answers that were asked for
  const Cancellation warm_up_ = source_.ticket();

  std::mutex mutex_;  // of what follows
  std::condition_variable has_orders_;
  std::deque<Order> orders_;
  bool is_over_ = false;

  std::thread thread_;
};

}  // namespace parlance
