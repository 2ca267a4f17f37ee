// What reaches the one that owns a conversation, from many threads.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "voice/parts.h"

namespace parlance {

class Inbox {
 public:
  // Sound comes in pieces of 10 ms: an owner that is so far behind has stopped working.
  static constexpr size_t kMostMessages = 8192;

  // `on_mail` is called behind each message or notification, for an owner that does not wait in take(). It
  // must not wait for anything.
  explicit Inbox(std::function<void()> on_mail = {}) : on_mail_(std::move(on_mail)) {}

  // What is posted to a full inbox is lost, and the conversation broken: the owner is told so.
  void post(TalkMessage message) {
    {
      const std::lock_guard lock(mutex_);
      is_settled_ = false;
      if (messages_.size() < kMostMessages) {
        messages_.push_back(std::move(message));
      } else {
        has_overflown_ = true;
      }
    }
    has_mail_.notify_one();
    if (on_mail_) on_mail_();
  }
  // For those who can: returns when half the inbox is free, or it is closed.
  void wait_for_room() {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return messages_.size() < kMostMessages / 2 || is_closed_; });
  }

  // The part has news, which the owner will ask it for.
  void notify(TalkPart& part) {
    {
      const std::lock_guard lock(mutex_);
      is_settled_ = false;
      if (std::ranges::find(parts_, &part) == parts_.end()) parts_.push_back(&part);
    }
    has_mail_.notify_one();
    if (on_mail_) on_mail_();
  }

  // By the owner, who has done what was handed out before: what was posted, in order, or the news of parts,
  // by turns where there are both. Parts are asked only then, since what was posted may change what they
  // have to say: a text that was final is none when there was more to hear. Waits for either, but no longer
  // than this.
  std::vector<TalkMessage> take(std::chrono::microseconds at_most) {
    std::vector<TalkMessage> mail;
    std::vector<TalkPart*> parts;
    {
      std::unique_lock lock(mutex_);
      has_mail_.wait_for(lock, at_most, [&] { return !messages_.empty() || !parts_.empty(); });
      is_turn_of_parts_ = !parts_.empty() && (!is_turn_of_parts_ || messages_.empty());
      if (is_turn_of_parts_) {
        parts.swap(parts_);
      } else {
        mail.swap(messages_);
        if (has_overflown_) {
          mail.push_back(Broken{{ErrorCode::busy,
                                 "the conversation is too far behind what is heard; use "
                                 "smaller models"}});
        }
      }
    }
    has_room_.notify_all();
    for (TalkPart* const part : parts) part->report(mail);
    return mail;
  }

  // By the owner, when it has done what the messages were about: whether nothing is going on now.
  void settle(bool is_quiet) {
    {
      const std::lock_guard lock(mutex_);
      is_settled_ = is_quiet && messages_.empty() && parts_.empty();
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
    has_room_.notify_all();
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
  const std::function<void()> on_mail_;
  mutable std::mutex mutex_;
  std::condition_variable has_mail_, has_room_, has_settled_;
  std::vector<TalkMessage> messages_;
  std::vector<TalkPart*> parts_;
  bool is_turn_of_parts_ = false, has_overflown_ = false, is_settled_ = true, is_closed_ = false;
};

}  // namespace parlance
