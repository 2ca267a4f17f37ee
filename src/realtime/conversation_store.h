// Conversations that nobody is connected to: for a while, somebody may come back.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "realtime/items.h"

namespace parlance {

// From any thread.
class ConversationStore {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ConversationStore(std::chrono::milliseconds kept_for = std::chrono::hours(1))
      : kept_for_(kept_for) {}

  // In place of what was kept; without sound, whose text is known or will never be. `owner` is the key's
  // name.
  void keep(const std::string& owner, const std::string& id, const std::vector<Item>& items,
            Clock::time_point now = Clock::now());
  // Empty where there is none. It stays.
  std::vector<Item> find(const std::string& owner, const std::string& id,
                         Clock::time_point now = Clock::now());

  static constexpr size_t kMost = 1000;

 private:
  struct Entry {
    std::vector<Item> items;
    Clock::time_point touched;
  };
  void forget_old(Clock::time_point now);

  const std::chrono::milliseconds kept_for_;
  std::mutex mutex_;  // of what follows
  std::map<std::pair<std::string, std::string>, Entry> entries_;
};

}  // namespace parlance
