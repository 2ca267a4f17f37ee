// How many answers one key may have running and waiting, so that nobody fills the queue of all.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace parlance {

class KeyShares {
 public:
  // Of each key; none: there is no limit.
  explicit KeyShares(std::optional<int64_t> n_most) : n_most_(n_most) {}

  // What a request has of its key's share, until it goes.
  class Lease {
   public:
    Lease(KeyShares& shares, std::string key, int64_t n) : shares_(shares), key_(std::move(key)), n_(n) {}
    ~Lease() { shares_.give_back(key_, n_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

   private:
    KeyShares& shares_;
    const std::string key_;
    const int64_t n_;
  };

  // Null where the key has too many already. From any thread; the shares outlive all leases.
  std::unique_ptr<Lease> take(const std::string& key, int64_t n) {
    const std::lock_guard lock(mutex_);
    int64_t& n_taken = n_of_key_[key];
    if (n_most_ && n_taken + n > *n_most_) return nullptr;
    n_taken += n;
    return std::make_unique<Lease>(*this, key, n);
  }

 private:
  void give_back(const std::string& key, int64_t n) {
    const std::lock_guard lock(mutex_);
    const auto found = n_of_key_.find(key);
    if ((found->second -= n) == 0) n_of_key_.erase(found);
  }

  const std::optional<int64_t> n_most_;
  std::mutex mutex_;
  std::map<std::string, int64_t> n_of_key_;  // keys that are known: as many as there are
};

}  // namespace parlance
