#include "gguf/totals.h"

#include <algorithm>
#include <map>

namespace parlance {

uint64_t n_weights(const GgufFile& file) {
  uint64_t n = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    n += static_cast<uint64_t>(tensor.ne[0] * tensor.ne[1] * tensor.ne[2] * tensor.ne[3]);
  }
  return n;
}

size_t weight_bytes(const GgufFile& file) {
  size_t n = 0;
  for (const GgufTensor& tensor : file.tensors()) n += tensor.bytes.size();
  return n;
}

std::string_view dominant_type(const GgufFile& file) {
  std::map<std::string_view, size_t> bytes;
  for (const GgufTensor& tensor : file.tensors()) bytes[name_of(tensor.dtype)] += tensor.bytes.size();
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; });
  return most == bytes.end() ? "no weights" : most->first;
}

}  // namespace parlance
