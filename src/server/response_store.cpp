#include "server/response_store.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace parlance {

namespace {

size_t bytes_of(const StoredResponse& stored) {
  size_t n = stored.id.size() + stored.owner.size() + stored.response.line().size();
  for (const Json& item : stored.items) n += item.line().size();
  return n;
}

}  // namespace

void ResponseStore::drop(std::list<Entry>::iterator entry) {
  n_bytes_ -= entry->n_bytes;
  entries_.erase(entry);
}

void ResponseStore::forget_old(Clock::time_point now) {
  while (!entries_.empty() && now - entries_.front().since > limits_.time) drop(entries_.begin());
}

void ResponseStore::keep(StoredResponse response, Clock::time_point now) {
  const size_t n_bytes = bytes_of(response);
  const std::lock_guard lock(mutex_);
  forget_old(now);
  if (n_bytes > limits_.n_most_bytes) return;
  while (!entries_.empty() &&
         (entries_.size() >= limits_.n_most || n_bytes_ + n_bytes > limits_.n_most_bytes))
    drop(entries_.begin());
  n_bytes_ += n_bytes;
  entries_.push_back({std::move(response), now, n_bytes});
}

std::optional<StoredResponse> ResponseStore::find(std::string_view id, std::string_view owner,
                                                  Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  for (const Entry& entry : entries_) {
    if (entry.stored.id == id && entry.stored.owner == owner) return entry.stored;
  }
  return std::nullopt;
}

std::optional<Json> ResponseStore::find_item(std::string_view id, std::string_view owner,
                                             Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  for (const Entry& entry : entries_ | std::views::reverse) {
    if (entry.stored.owner != owner) continue;
    for (const Json& item : entry.stored.items) {
      const auto own = item.member("id");
      if (own && own->text() == id) return item;
    }
  }
  return std::nullopt;
}

bool ResponseStore::remove(std::string_view id, std::string_view owner, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.stored.id == id && entry.stored.owner == owner; });
  if (found == entries_.end()) return false;
  drop(found);
  return true;
}

size_t ResponseStore::n_bytes() const {
  const std::lock_guard lock(mutex_);
  return n_bytes_;
}

}  // namespace parlance
