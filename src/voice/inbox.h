// Messages of many threads to the one that owns a conversation.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "voice/parts.h"

namespace parlance {

class Inbox {
 public:
  void post(TalkMessage message) {
    {
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
      is_settled_ = false;
    }
    has_messages_.notify_one();
  }

  // By the owner: what has come, in order; waits for a message, but no longer than this.
  std::vector<TalkMessage> take(std::chrono::microseconds at_most) {
    std::unique_lock lock(mutex_);
    has_messages_.wait_for(lock, at_most, [&] { return !messages_.empty(); });
    return std::exchange(messages_, {});
  }

  // By the owner, when it has done what the messages were about: whether nothing is going on now.
  void settle(bool is_quiet) {
    {
      const std::lock_guard lock(mutex_);
      is_settled_ = is_quiet && messages_.empty();
      if (!is_settled_) return;
    }
    has_settled_.notify_all();
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    has_settled_.notify_all();
  }

  // Whether all messages were taken and nothing is going on.
  bool is_settled() const {
    const std::lock_guard lock(mutex_);
    return is_settled_ || is_closed_;
  }
  void wait_until_settled() {
    std::unique_lock lock(mutex_);
    has_settled_.wait(lock, [&] { return is_settled_ || is_closed_; });
  }
  bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable has_messages_, has_settled_;
  std::vector<TalkMessage> messages_;
  bool is_settled_ = true, is_closed_ = false;
};

}  // namespace parlance
