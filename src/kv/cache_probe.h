// What is known of a model's keys and values before they are compressed: what each format costs in each layer
// and head, and how keys are equalised.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kv/equaliser.h"
#include "kv/format_losses.h"
#include "kv/model_hash.h"
#include "quant/kv_format.h"

namespace parlance {

struct CacheProbe {
  int64_t n_layer = 0;  // that have a cache
  int64_t n_head_kv = 0;
  int64_t head_dim_k = 0;
  std::vector<KvFormat> formats;    // that were tried
  std::vector<HeadLoss> plain;      // [n_head_kv, n_layer, n_formats], keys as they are
  std::vector<HeadLoss> equalised;  // the same with the equaliser
  std::vector<float>
      first_keys;  // [n_layer]: how much longer the longest of the first keys is than most others
  KvEqualiser equaliser;

  // Of the heads of a layer; none for a format that was not tried.
  std::span<const HeadLoss> losses(KvFormat format, int64_t layer, bool is_equalised) const;
  bool tried(KvFormat format) const;
  bool operator==(const CacheProbe&) const = default;
};

// A probe as bytes of a file, and back. What is not the probe of this model, of this version and unharmed, is
// an error.
std::vector<std::byte> bytes_of(const CacheProbe& probe, const ModelHash& model);
Result<CacheProbe> parse_probe(std::span<const std::byte> bytes, std::string_view name,
                               const ModelHash& model);

}  // namespace parlance
