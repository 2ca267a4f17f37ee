#include "server/response_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace parlance {

namespace {

size_t bytes_of(const StoredResponse& stored) {
  size_t n = stored.id.size() + stored.owner.size() + stored.response.line().size();
  for (const Json& item : stored.items) n += item.line().size();
  return n;
}

std::string id_of(const Json& item) {
  const auto id = item.member("id");
  return id ? id->text().value_or("") : "";
}

}  // namespace

void ResponseStore::drop(std::list<Entry>::iterator entry) {
  for (const Json& item : entry->stored.items)
    items_.erase({entry->stored.owner, id_of(item), entry->number});
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
  const uint64_t number = ++n_kept_;
  for (const Json& item : response.items)
    items_.insert_or_assign({response.owner, id_of(item), number}, item);
  entries_.push_back({std::move(response), now, n_bytes, number});
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
  const std::tuple key(std::string(owner), std::string(id), UINT64_MAX);
  const auto behind = items_.upper_bound(key);  // of those with this id the newest is the last one before
  if (behind == items_.begin()) return std::nullopt;
  const auto& [place, item] = *std::prev(behind);
  const auto& [own_owner, own_id, number] = place;
  return own_owner == owner && own_id == id ? std::optional(item) : std::nullopt;
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
