#include "kv/page_pool.h"

#include <cassert>

namespace parlance {

PagePool::PagePool(int32_t n_pages) : holders_(static_cast<size_t>(n_pages), 0) {
  free_.reserve(holders_.size());
  for (int32_t page = n_pages - 1; page >= 0; --page) free_.push_back(page);
}

std::optional<int32_t> PagePool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::nullopt;
  const int32_t page = free_.back();
  free_.pop_back();
  holders_[static_cast<size_t>(page)] = 1;
  return page;
}

void PagePool::hold(int32_t page) {
  const std::lock_guard lock(mutex_);
  assert(page >= 0 && page < n_pages() && "no such page");
  assert(holders_[static_cast<size_t>(page)] > 0 && "a free page is taken, not held");
  holders_[static_cast<size_t>(page)] += 1;
}

void PagePool::release(int32_t page) {
  const std::lock_guard lock(mutex_);
  assert(page >= 0 && page < n_pages() && "no such page");
  int32_t& holders = holders_[static_cast<size_t>(page)];
  assert(holders > 0 && "released more often than held");
  holders -= 1;
  if (holders == 0) free_.push_back(page);
}

int32_t PagePool::holders(int32_t page) const {
  const std::lock_guard lock(mutex_);
  assert(page >= 0 && page < n_pages() && "no such page");
  return holders_[static_cast<size_t>(page)];
}

std::vector<int32_t> PagePool::all_holders() const {
  const std::lock_guard lock(mutex_);
  return holders_;
}

int32_t PagePool::n_free() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int32_t>(free_.size());
}

void PagePools::hold(PageRef ref) {
  for (const PageKind kind : kPageKinds) {
    if (ref[kind] >= 0) (*this)[kind].hold(ref[kind]);
  }
}

void PagePools::release(PageRef ref) {
  for (const PageKind kind : kPageKinds) {
    if (ref[kind] >= 0) (*this)[kind].release(ref[kind]);
  }
}

}  // namespace parlance
