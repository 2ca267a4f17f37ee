// Which conversations are open: what each has computed, whose turn it is in it, and the slot that it goes by.
// A slot is a number that clients see; memory is shared by content, whatever the slot. Everything may be
// called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assistant/conversation_files.h"
#include "engine/context.h"
#include "kv/sharing.h"

namespace parlance {

// The first four bytes of a text's SHA-256, by the number of slots.
int slot_from_hash(std::string_view text, uint32_t n_slots);

// The slot of a new conversation: one that is free, the first of them; where none is, that of the hash of its
// id, which is the same on every server.
int lowest_loaded_slot(const std::vector<int>& loads, std::string_view id);

// What of a conversation has been put to the model: the text that a next request is likely to begin with.
struct ConversationText {
  std::vector<Token> tokens;
  Sharing sharing;
  PrefixKey key() const { return {tokens, {}, sharing.space}; }
};

class OpenConversation {
 public:
  using Clock = std::chrono::steady_clock;

  struct Name {
    std::string owner;  // who alone may see it; empty: everybody
    std::string key;    // "conv:kitchen"; empty: of a request without one
    std::string id;     // "kitchen"; empty: it is not a conversation, only a key
  };

  OpenConversation(Name name, int slot, Lifetime lifetime)
      : name(std::move(name)), slot(slot), lifetime_(lifetime) {}

  const Name name;
  const int slot;

  // One request at a time. Whose turn it is not yet is called when it is, from the thread of who leaves; more
  // than kMostWaiting are refused. Who has entered leaves, once, whether it was called or not.
  static constexpr size_t kMostWaiting = 4;
  struct Entry {
    enum class Outcome : uint8_t { now, waits, refused } outcome;
    uint64_t id = 0;
  };
  Entry enter(std::function<void()> on_turn);
  void leave(uint64_t id);
  size_t n_waiting() const;

  // Closed for good: whoever is at it or waits for its turn is told to end, once, from the thread that closes
  // it. The listener goes when what it was given does.
  void close();
  bool is_closed() const { return is_closed_; }
  void when_closed(const std::shared_ptr<std::function<void()>>& on_closed);

  // An answer begins, goes on and ends. What was computed is remembered as its text; null: nothing is.
  void begin(std::shared_ptr<const ConversationText> text);
  void progress(int64_t n_cached, int64_t n_decoded, int64_t n_remaining);
  void end(std::shared_ptr<const ConversationText> text);

  // Its text from a file, or from somebody who computed it beforehand.
  void set_text(std::shared_ptr<const ConversationText> text);
  std::shared_ptr<const ConversationText> text() const;
  // Forgets it; yields how many tokens there were.
  int64_t erase();

  Lifetime lifetime() const;
  void set_lifetime(Lifetime lifetime);
  void use(Clock::time_point now);
  Clock::time_point last_used() const;
  // Longer than its lifetime, an hour at most, without anybody at it.
  bool is_idle(Clock::time_point now) const;
  // Nobody is at it, and nothing of it is pinned.
  bool is_free() const;

  // Whether there is something that no file has; saved() says that one has that text now.
  bool is_unsaved() const;
  void saved(const std::shared_ptr<const ConversationText>& text);
  // True the first time: then it is time to look for its file.
  bool takes_first_look() { return !was_looked_for_.exchange(true); }

  // What was computed before anybody asked, and is to be again when it was evicted; it is the conversation's
  // text, too, as long as there is no other. Null: there is none.
  void set_prefix(std::shared_ptr<const ConversationText> prefix);
  std::shared_ptr<const ConversationText> prefix() const;
  // It is not evicted from now on.
  void pin_prefix(const std::shared_ptr<Context>& context);
  bool is_pinned() const;

  struct Progress {
    bool is_processing = false;
    uint64_t n_answers = 0;  // that have begun
    int64_t n_cached = 0, n_decoded = 0, n_remaining = 0;
  };
  Progress progress() const;

 private:
  mutable std::mutex mutex_;
  Lifetime lifetime_;
  Clock::time_point last_used_ = Clock::now();
  std::shared_ptr<const ConversationText> text_, saved_, prefix_;
  int n_running_ = 0;
  Progress progress_;
  uint64_t last_id_ = 0, whose_turn_ = 0;  // 0: nobody's
  std::deque<std::pair<uint64_t, std::function<void()>>> waiting_;
  bool is_free_locked() const { return n_running_ == 0 && whose_turn_ == 0 && pin_.n_tokens() == 0; }

  std::atomic<bool> was_looked_for_{false}, is_closed_{false};
  std::vector<std::weak_ptr<std::function<void()>>> listeners_;  // to its end
  std::shared_ptr<Context> context_;                             // as long as there is a pin
  PrefixTree::Pin pin_;
};

class ConversationRegistry {
 public:
  using Clock = OpenConversation::Clock;
  using Open = std::shared_ptr<OpenConversation>;

  explicit ConversationRegistry(int n_slots, size_t n_most = 10000)
      : loads_(static_cast<size_t>(n_slots)), n_most_(n_most) {
    at_slot_.resize(loads_.size());
  }

  struct Opened {
    Open conversation;
    bool is_new = false;
    // Closed to make room, for the caller to put away; null: none, also where all are at work, when there are
    // more for a while.
    Open displaced;
  };
  // The one of that name, used now. `slot` is that of a new one; -1: the lowest loaded.
  Opened open(const OpenConversation::Name& name, int slot, Lifetime lifetime, Clock::time_point now);
  // One that nobody finds but by its slot, and only until that goes to another one; -1: a slot that stands
  // for nothing, else the one that was least recently used.
  Open open_nameless(int slot, Clock::time_point now);

  // A conversation by its key, "conv:kitchen"; null: it is not open.
  Open find(std::string_view owner, std::string_view key) const;
  Open at_slot(int slot) const;
  void take_slot(const Open& conversation);  // it is what the slot stands for from now on
  std::vector<Open> all() const;

  void close(const Open& conversation);
  // Closes what has been idle for too long, for the caller to put away.
  std::vector<Open> close_idle(Clock::time_point now);

  int n_slots() const { return static_cast<int>(loads_.size()); }
  size_t most_open() const;  // conversations at once, so far
  // How many slots a server would want that has been used like this one.
  int recommended_slots(int running) const;

 private:
  void close_locked(const Open& conversation);

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Open, std::less<>> open_;  // by owner and key
  std::vector<int> loads_;                                                 // conversations of each slot
  std::vector<Open> at_slot_;
  const size_t n_most_;
  size_t n_conversations_ = 0, most_open_ = 0;
};

}  // namespace parlance
