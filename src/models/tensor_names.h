// What the names of tensors in a GGUF file say.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace parlance {

// The layer in a name such as "blk.3.attn_q.weight"; -1 for tensors of no layer.
inline int64_t layer_of(std::string_view tensor) {
  constexpr std::string_view kPrefix = "blk.";
  if (!tensor.starts_with(kPrefix)) return -1;
  tensor.remove_prefix(kPrefix.size());
  int64_t layer = -1;
  std::from_chars(tensor.data(), tensor.data() + tensor.size(), layer);
  return layer;
}

}  // namespace parlance
