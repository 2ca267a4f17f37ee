// How many answers one key may have made at once and waiting, so that nobody takes the room of all.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace parlance {

struct KeyLimits {
  int64_t n_running = 0, n_waiting = 0;
};

// From any thread; outlives all leases.
class KeyShares {
 public:
  // Of each key; none: there is no limit.
  explicit KeyShares(std::optional<KeyLimits> limits) : limits_(limits) {}

  // What a request has of its key's share, until it goes.
  class Lease {
   public:
    Lease(KeyShares& shares, std::string key, int64_t n) : shares_(shares), key_(std::move(key)), n_(n) {}
    ~Lease() { shares_.give_back(*this); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    // Whether its answers may be made now. Where not, `on_turn` is called when they may, once, from the
    // thread of who makes room; not when the lease went before. In the order in which they came. More than a
    // key's share are made alone. To be asked once.
    bool begin(std::function<void()> on_turn) { return shares_.begin(*this, std::move(on_turn)); }

   private:
    friend class KeyShares;
    KeyShares& shares_;
    const std::string key_;
    const int64_t n_;
    bool is_running_ = false;
    std::function<void()> on_turn_;
  };

  // The most that one request may ask for: more than that there is never room for. None: there is no limit.
  std::optional<int64_t> most_at_once() const {
    return limits_ ? std::optional(limits_->n_running + limits_->n_waiting) : std::nullopt;
  }

  // Null where the key has too many already.
  std::unique_ptr<Lease> take(const std::string& key, int64_t n);

 private:
  struct OfKey {
    int64_t n_taken = 0, n_running = 0;
    std::list<Lease*> waiting;
  };
  bool begin(Lease& lease, std::function<void()> on_turn);
  void give_back(Lease& lease);
  bool has_room(const OfKey& key, int64_t n) const {
    return !limits_ || key.n_running == 0 || key.n_running + n <= limits_->n_running;
  }

  const std::optional<KeyLimits> limits_;
  std::mutex mutex_;                   // of what follows, and of leases
  std::map<std::string, OfKey> keys_;  // those that have something
};

}  // namespace parlance
