// What of a sequence is kept in which format: keys and values apart, by layer, and by position.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kv/equaliser.h"
#include "quant/kv_format.h"

namespace parlance {

// Both sides of a layer.
struct LayerCoding {
  KvCoding k = {}, v = {};
  bool operator==(const LayerCoding&) const = default;
};

// What a way of keeping keys and values is to be chosen by, layer by layer (kv/cache_choice.h).
struct CacheGoal {
  double most_bits = 16;       // for a value, on average
  double most_divergence = 0;  // that is not worth more bits: nats, as predicted
  bool operator==(const CacheGoal&) const = default;
};

struct KvPolicy {
  KvCoding k = {}, v = {};
  // The first n_sink and the last n_recent positions of a sequence stay in f16, in whole pages; with both at
  // 0 positions are stored in k and v at once.
  int64_t n_sink = 0;
  int64_t n_recent = 0;

  struct Override {
    int64_t layer;  // among the layers that have a cache; negative: counted from the last, -1
    KvFormat k, v;
    bool operator==(const Override&) const = default;
  };
  std::vector<Override> layers = {};  // the later one counts

  // Formats of layers are still to be chosen; what stands above is for who does not choose.
  std::optional<CacheGoal> goal = {};
  // Where something is compressed, keys are stored equalised as soon as it is known how.
  bool equalises = true;
  std::shared_ptr<const KvEqualiser> equaliser = {};

  bool compresses() const;  // into other than floats
  bool has_exact_pages() const { return n_sink > 0 || n_recent > 0; }

  // The coding of layer i of n.
  LayerCoding layer(int64_t i, int64_t n) const;
};

// "0,1,-1:q8_0" or "0:f16;-2,-1:q8_0/tbq4_0": layers and the format of both sides, or of keys and values.
// Errors name the part that is not understood.
Result<std::vector<KvPolicy::Override>> parse_layer_overrides(std::string_view text);

// small, balanced, auto or exact: what --cache takes; nothing for other names.
std::optional<KvPolicy> cache_preset(std::string_view name);
inline constexpr std::string_view kCachePresetNames = "small, balanced, auto, exact";

}  // namespace parlance
