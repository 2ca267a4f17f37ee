#include "wyoming/conversation_memory.h"

#include <algorithm>

namespace parlance {

void ConversationMemory::Conversation::add_turn(std::string question, std::string answer) {
  messages.push_back({"user", std::move(question)});
  messages.push_back({"assistant", std::move(answer)});
  while (messages.size() > 2 * kMostTurns) messages.pop_front();
}

std::shared_ptr<ConversationMemory::Conversation> ConversationMemory::open(const std::string& id,
                                                                           Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&](const auto& one) { return one.second.last_used + kLife <= now; });
  Known& known = known_[id];
  if (!known.conversation) known.conversation = std::make_shared<Conversation>();
  known.last_used = now;
  const auto conversation = known.conversation;
  if (known_.size() > kMostConversations) {
    known_.erase(std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
      return a.second.last_used < b.second.last_used;
    }));
  }
  return conversation;
}

size_t ConversationMemory::n_conversations() const {
  const std::lock_guard lock(mutex_);
  return known_.size();
}

}  // namespace parlance
