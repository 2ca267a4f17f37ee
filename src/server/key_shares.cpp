#include "server/key_shares.h"

#include <utility>
#include <vector>

namespace parlance {

std::unique_ptr<KeyShares::Lease> KeyShares::take(const std::string& key, int64_t n) {
  const std::lock_guard lock(mutex_);
  const auto found = keys_.find(key);
  const int64_t n_taken = found == keys_.end() ? 0 : found->second.n_taken;
  if (limits_ && n_taken + n > limits_->n_running + limits_->n_waiting) return nullptr;
  keys_[key].n_taken += n;
  return std::make_unique<Lease>(*this, key, n);
}

bool KeyShares::begin(Lease& lease, std::function<void()> on_turn) {
  const std::lock_guard lock(mutex_);
  OfKey& key = keys_.find(lease.key_)->second;
  if (!key.waiting.empty() || !has_room(key, lease.n_)) {
    lease.on_turn_ = std::move(on_turn);
    key.waiting.push_back(&lease);
    return false;
  }
  lease.is_running_ = true;
  key.n_running += lease.n_;
  return true;
}

void KeyShares::give_back(Lease& lease) {
  std::vector<std::function<void()>> turns;
  {
    const std::lock_guard lock(mutex_);
    const auto found = keys_.find(lease.key_);
    OfKey& key = found->second;
    key.n_taken -= lease.n_;
    if (lease.is_running_) {
      key.n_running -= lease.n_;
    } else {
      key.waiting.remove(&lease);
    }
    while (!key.waiting.empty() && has_room(key, key.waiting.front()->n_)) {
      Lease& next = *key.waiting.front();
      key.waiting.pop_front();
      next.is_running_ = true;
      key.n_running += next.n_;
      turns.push_back(std::exchange(next.on_turn_, nullptr));
    }
    if (key.n_taken == 0) keys_.erase(found);
  }
  for (const auto& on_turn : turns) on_turn();
}

}  // namespace parlance
