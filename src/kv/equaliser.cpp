#include "kv/equaliser.h"

#define XXH_INLINE_ALL  // nothing is linked
#include <xxhash.h>

namespace parlance {

uint64_t KvEqualiser::hash() const {
  uint64_t hash = layers.size();
  for (const KeyEqualiser& layer : layers) {
    for (const std::vector<float>* const side : {&layer.shift, &layer.scale})
      hash = XXH3_64bits_withSeed(side->data(), side->size() * sizeof(float), hash);
  }
  return hash;
}

}  // namespace parlance
