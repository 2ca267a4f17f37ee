#include "kv/page_pool.h"

#include <algorithm>
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
  n_used_ = std::max(n_used_, page + 1);
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

PagePool::Range PagePool::new_among_next(int64_t n) const {
  const std::lock_guard lock(mutex_);
  const int64_t n_new = n_pages() - n_used_, n_given_back = std::ssize(free_) - n_new;
  return {n_used_, n_used_ + static_cast<int32_t>(std::clamp<int64_t>(n - n_given_back, 0, n_new))};
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
