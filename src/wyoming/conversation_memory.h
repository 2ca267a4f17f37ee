// What was said in conversations whose clients keep nothing but a name of them.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "chat/prompt.h"

namespace parlance {

// From any thread.
class ConversationMemory {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr size_t kMostTurns = 32;  // of a conversation: a question and its answer
  static constexpr std::chrono::minutes kLife{60};
  static constexpr size_t kMostConversations = 1000;

  struct Conversation {
    std::mutex mutex;  // of whoever answers: one question at a time
    std::deque<Message> messages;

    void add_turn(std::string question, std::string answer);
  };

  // Those that nobody has asked for in that time are forgotten, and the oldest where there are too many.
  std::shared_ptr<Conversation> open(const std::string& id, Clock::time_point now = Clock::now());
  size_t n_conversations() const;

 private:
  struct Known {
    std::shared_ptr<Conversation> conversation;
    Clock::time_point last_used;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace parlance
