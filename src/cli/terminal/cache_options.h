// The options that say how keys and values are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/terminal/command.h"
#include "kv/policy.h"

namespace parlance {

// What was given; a preset gives way to whatever was given beside it, in any order.
struct CacheChoice {
  std::optional<KvPolicy> preset;
  std::optional<KvFormat> k, v;
  std::optional<int64_t> n_sink, n_recent;
  std::optional<std::vector<KvPolicy::Override>> layers;
  std::optional<KvEncoder> encoder;
  std::optional<bool> rotated, least_squares, equalises;

  KvPolicy policy() const;
};

// --cache to --cache-sketch. Every one of them also writes the resulting policy to `policy`.
std::vector<Option> cache_options(CacheChoice& choice, KvPolicy& policy);

}  // namespace parlance
