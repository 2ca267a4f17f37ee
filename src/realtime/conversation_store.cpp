#include "realtime/conversation_store.h"

#include <algorithm>

namespace parlance {

void ConversationStore::forget_old(Clock::time_point now) {
  std::erase_if(entries_, [&](const auto& entry) { return now - entry.second.touched > kept_for_; });
  while (entries_.size() > kMost) {
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second.touched < b.second.touched;
    }));
  }
}

void ConversationStore::keep(const std::string& owner, const std::string& id, const std::vector<Item>& items,
                             Clock::time_point now) {
  std::vector<Item> kept;
  for (const Item& item : items) {
    if (item.status == Item::Status::in_progress) continue;
    Item copy = item;
    for (ItemPart& part : copy.parts) {
      part.sound.reset();
      part.has_text = true;
    }
    kept.push_back(std::move(copy));
  }
  const std::lock_guard lock(mutex_);
  entries_[{owner, id}] = {.items = std::move(kept), .touched = now};
  forget_old(now);
}

std::vector<Item> ConversationStore::find(const std::string& owner, const std::string& id,
                                          Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  const auto found = entries_.find({owner, id});
  if (found == entries_.end()) return {};
  found->second.touched = now;
  return found->second.items;
}

}  // namespace parlance
