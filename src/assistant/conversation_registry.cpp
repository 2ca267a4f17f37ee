#include "assistant/conversation_registry.h"

#include <algorithm>
#include <limits>

#include "bundle/sha256.h"

namespace parlance {

namespace {

// What is kept for longer lies in a file meanwhile.
constexpr std::chrono::minutes kLongestOpen{60};

// A key that is no conversation's may read like one's.
std::pair<std::string, std::string> place_of(const OpenConversation::Name& name) {
  return {name.owner, (name.id.empty() ? "\x01" : "") + name.key};
}

}  // namespace

int slot_from_hash(std::string_view text, uint32_t n_slots) {
  const std::string digits = sha256(std::as_bytes(std::span(text))).substr(0, 8);
  return static_cast<int>(static_cast<uint32_t>(std::stoul(digits, nullptr, 16)) % n_slots);
}

int lowest_loaded_slot(const std::vector<int>& loads, std::string_view id) {
  if (loads.size() <= 1) return 0;
  const auto least = std::ranges::min_element(loads);
  if (*least == 0) return static_cast<int>(least - loads.begin());
  return slot_from_hash(id, static_cast<uint32_t>(loads.size()));
}

OpenConversation::Entry OpenConversation::enter(std::function<void()> on_turn) {
  const std::lock_guard lock(mutex_);
  if (whose_turn_ == 0) {
    whose_turn_ = ++last_id_;
    return {Entry::Outcome::now, whose_turn_};
  }
  if (waiting_.size() >= kMostWaiting) return {Entry::Outcome::refused};
  waiting_.emplace_back(++last_id_, std::move(on_turn));
  return {Entry::Outcome::waits, last_id_};
}

void OpenConversation::leave(uint64_t id) {
  std::function<void()> next;
  {
    const std::lock_guard lock(mutex_);
    if (whose_turn_ != id) {
      std::erase_if(waiting_, [id](const auto& one) { return one.first == id; });
      return;
    }
    whose_turn_ = 0;
    if (waiting_.empty()) return;
    whose_turn_ = waiting_.front().first;
    next = std::move(waiting_.front().second);
    waiting_.pop_front();
  }
  next();
}

size_t OpenConversation::n_waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void OpenConversation::close() {
  std::vector<std::weak_ptr<std::function<void()>>> listeners;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    listeners.swap(listeners_);
  }
  for (const auto& weak : listeners) {
    if (const auto listener = weak.lock()) (*listener)();
  }
}

void OpenConversation::when_closed(const std::shared_ptr<std::function<void()>>& on_closed) {
  const std::lock_guard lock(mutex_);
  std::erase_if(listeners_, [](const auto& one) { return one.expired(); });
  listeners_.push_back(on_closed);
}

void OpenConversation::begin(std::shared_ptr<const ConversationText> text) {
  const std::lock_guard lock(mutex_);
  ++n_running_;
  progress_ = {.is_processing = true, .n_answers = progress_.n_answers + 1};
  if (text) text_ = std::move(text);
}

void OpenConversation::progress(int64_t n_cached, int64_t n_decoded, int64_t n_remaining) {
  const std::lock_guard lock(mutex_);
  progress_.n_cached = n_cached;
  progress_.n_decoded = n_decoded;
  progress_.n_remaining = n_remaining;
}

void OpenConversation::end(std::shared_ptr<const ConversationText> text) {
  const std::lock_guard lock(mutex_);
  --n_running_;
  last_used_ = Clock::now();
  if (text) text_ = std::move(text);
}

void OpenConversation::set_text(std::shared_ptr<const ConversationText> text) {
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
}

std::shared_ptr<const ConversationText> OpenConversation::text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

int64_t OpenConversation::erase() {
  PrefixTree::Pin pin;  // goes when the lock is free
  const std::lock_guard lock(mutex_);
  const int64_t n_tokens = text_ ? std::ssize(text_->tokens) : 0;
  std::swap(pin, pin_);
  text_ = saved_ = prefix_ = nullptr;
  return n_tokens;
}

Lifetime OpenConversation::lifetime() const {
  const std::lock_guard lock(mutex_);
  return lifetime_;
}

void OpenConversation::set_lifetime(Lifetime lifetime) {
  const std::lock_guard lock(mutex_);
  if (lifetime != lifetime_) saved_ = nullptr;  // its file has another name now
  lifetime_ = lifetime;
}

void OpenConversation::use(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  last_used_ = now;
}

OpenConversation::Clock::time_point OpenConversation::last_used() const {
  const std::lock_guard lock(mutex_);
  return last_used_;
}

bool OpenConversation::is_idle(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  const auto longest = std::min<std::chrono::milliseconds>(horizon_of(lifetime_), kLongestOpen);
  return is_free_locked() && now - last_used_ > longest;
}

bool OpenConversation::is_free() const {
  const std::lock_guard lock(mutex_);
  return is_free_locked();
}

bool OpenConversation::is_unsaved() const {
  const std::lock_guard lock(mutex_);
  return text_ && text_ != saved_;
}

void OpenConversation::saved(const std::shared_ptr<const ConversationText>& text) {
  const std::lock_guard lock(mutex_);
  saved_ = text;
}

void OpenConversation::set_prefix(std::shared_ptr<const ConversationText> prefix) {
  const std::lock_guard lock(mutex_);
  if (!text_) text_ = prefix;
  prefix_ = std::move(prefix);
}

std::shared_ptr<const ConversationText> OpenConversation::prefix() const {
  const std::lock_guard lock(mutex_);
  return prefix_;
}

void OpenConversation::pin_prefix(const std::shared_ptr<Context>& context) {
  const auto known = prefix();
  if (!known) return;
  PrefixTree::Pin pin = context->tree().pin(known->key());  // the one before goes when the lock is free
  const std::lock_guard lock(mutex_);
  context_ = context;
  std::swap(pin, pin_);
}

bool OpenConversation::is_pinned() const {
  const std::lock_guard lock(mutex_);
  return pin_.n_tokens() > 0;
}

OpenConversation::Progress OpenConversation::progress() const {
  const std::lock_guard lock(mutex_);
  Progress progress = progress_;
  progress.is_processing = n_running_ > 0;
  return progress;
}

ConversationRegistry::Opened ConversationRegistry::open(const OpenConversation::Name& name, int slot,
                                                        Lifetime lifetime, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Opened opened;
  const auto key = place_of(name);
  if (const auto found = open_.find(key); found != open_.end()) {
    opened.conversation = found->second;
  } else {
    if (open_.size() >= n_most_) {
      const auto oldest = std::ranges::min_element(open_, {}, [&](const auto& one) {
        return one.second->is_free() ? one.second->last_used() : Clock::time_point::max();
      });
      if (oldest != open_.end() && oldest->second->is_free()) {
        opened.displaced = oldest->second;
        close_locked(opened.displaced);
      }
    }
    if (slot < 0) slot = lowest_loaded_slot(loads_, name.id);
    opened.is_new = true;
    opened.conversation = std::make_shared<OpenConversation>(name, slot, lifetime);
    open_.emplace(key, opened.conversation);
    if (!name.id.empty()) {
      ++loads_[static_cast<size_t>(slot)];
      most_open_ = std::max(most_open_, ++n_conversations_);
    }
  }
  opened.conversation->use(now);
  return opened;
}

ConversationRegistry::Open ConversationRegistry::open_nameless(int slot, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto rank = [](const Open& open) {
    if (!open) return std::pair(0, Clock::time_point::min());
    return std::pair(open->progress().is_processing ? 2 : 1, open->last_used());
  };
  if (slot < 0) slot = static_cast<int>(std::ranges::min_element(at_slot_, {}, rank) - at_slot_.begin());
  auto open = std::make_shared<OpenConversation>(OpenConversation::Name{}, slot, Lifetime::brief);
  open->use(now);
  at_slot_[static_cast<size_t>(slot)] = open;
  return open;
}

ConversationRegistry::Open ConversationRegistry::find(std::string_view owner, std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(std::pair(std::string(owner), std::string(key)));
  return found == open_.end() ? nullptr : found->second;
}

ConversationRegistry::Open ConversationRegistry::at_slot(int slot) const {
  const std::lock_guard lock(mutex_);
  return slot >= 0 && slot < n_slots() ? at_slot_[static_cast<size_t>(slot)] : nullptr;
}

void ConversationRegistry::take_slot(const Open& conversation) {
  const std::lock_guard lock(mutex_);
  if (conversation->slot >= 0 && conversation->slot < n_slots())
    at_slot_[static_cast<size_t>(conversation->slot)] = conversation;
}

std::vector<ConversationRegistry::Open> ConversationRegistry::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Open> all;
  all.reserve(open_.size());
  for (const auto& [key, conversation] : open_) all.push_back(conversation);
  return all;
}

void ConversationRegistry::close_locked(const Open& conversation) {
  const auto found = open_.find(place_of(conversation->name));
  if (found == open_.end() || found->second != conversation) return;
  open_.erase(found);
  if (!conversation->name.id.empty()) {
    --loads_[static_cast<size_t>(conversation->slot)];
    --n_conversations_;
  }
  Open& shown = at_slot_[static_cast<size_t>(conversation->slot)];
  if (shown == conversation) shown = nullptr;
}

void ConversationRegistry::close(const Open& conversation) {
  const std::lock_guard lock(mutex_);
  close_locked(conversation);
}

std::vector<ConversationRegistry::Open> ConversationRegistry::close_idle(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::vector<Open> idle;
  for (const auto& [key, conversation] : open_) {
    if (conversation->is_idle(now)) idle.push_back(conversation);
  }
  for (const Open& one : idle) close_locked(one);
  return idle;
}

size_t ConversationRegistry::most_open() const {
  const std::lock_guard lock(mutex_);
  return most_open_;
}

int ConversationRegistry::recommended_slots(int running) const {
  const auto most = static_cast<int>(std::min<size_t>(most_open(), std::numeric_limits<int>::max() / 2));
  return std::max(running, std::max(1, most + std::max(2, (most + 3) / 4)));
}

}  // namespace parlance
