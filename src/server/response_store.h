// Responses that clients may come back to: answers with the whole conversation before them, in memory for a
// while.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "json/json.h"

namespace parlance {

struct StoredResponse {
  std::string id;
  std::string owner;        // the name of the key that it was made with; empty: no keys are configured
  Json response;            // as it was given
  std::vector<Json> items;  // the conversation with its answer
};

struct ResponseLimits {
  size_t n_most = 1000;
  size_t n_most_bytes = size_t{64} << 20;
  std::chrono::seconds time{3600};
};

// Safe to use from several threads. Each sees its owner's alone.
class ResponseStore {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ResponseStore(ResponseLimits limits = {}) : limits_(limits) {}

  // The oldest go where there are too many. One that is too large by itself is not kept.
  void keep(StoredResponse response, Clock::time_point now = Clock::now());
  std::optional<StoredResponse> find(std::string_view id, std::string_view owner,
                                     Clock::time_point now = Clock::now());
  // An item of any conversation, by its member "id".
  std::optional<Json> find_item(std::string_view id, std::string_view owner,
                                Clock::time_point now = Clock::now());
  bool remove(std::string_view id, std::string_view owner, Clock::time_point now = Clock::now());
  size_t n_bytes() const;

 private:
  struct Entry {
    StoredResponse stored;
    Clock::time_point since;
    size_t n_bytes;
    uint64_t number;  // counts those that were kept
  };
  void forget_old(Clock::time_point now);
  void drop(std::list<Entry>::iterator entry);

  const ResponseLimits limits_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the oldest first
  // Items by owner, id and number of the entry: a conversation of thousands may refer to each of them.
  std::map<std::tuple<std::string, std::string, uint64_t>, Json, std::less<>> items_;
  uint64_t n_kept_ = 0;
  size_t n_bytes_ = 0;
};

}  // namespace parlance
