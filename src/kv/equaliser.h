// Keys that formats store with less error, for the same attention. A vector that is taken off all rotated
// keys of a head moves every score of a query alike, which softmax does not see; and what keys are multiplied
// with, element by element, queries can be divided by. So outliers that a model's weights put into the same
// elements of all keys need not be stored.
#pragma once

#include <cstdint>
#include <vector>

namespace parlance {

// Of one layer, [head_dim_k, n_head_kv] each: what is stored is (key - shift) * scale.
struct KeyEqualiser {
  std::vector<float> shift, scale;
  bool operator==(const KeyEqualiser&) const = default;
};

struct KvEqualiser {
  std::vector<KeyEqualiser> layers;  // that have a cache

  uint64_t hash() const;  // keys that were stored with another one are of no use
  bool operator==(const KvEqualiser&) const = default;
};

}  // namespace parlance
