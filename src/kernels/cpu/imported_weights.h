// The CPU's weights: they stay where their file is mapped, and there may be a copy of them that products
// read.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "kernels/cpu/matmul/packed_weight.h"
#include "tensor/buffer.h"

namespace parlance {

class ImportedWeights final : public Buffer {
 public:
  explicit ImportedWeights(std::span<const std::byte> bytes)
      : Buffer(const_cast<std::byte*>(bytes.data()), bytes.size()) {}

  // Before anybody else has the buffer.
  void expect(std::shared_ptr<PackedWeight> packed) { packed_ = std::move(packed); }
  const PackedWeight* packed() const { return packed_.get(); }

 private:
  std::shared_ptr<PackedWeight> packed_;
};

// The strips of a tensor's rows; null where the rows are to be read themselves.
inline const std::byte* strips_of(const Tensor& weight) {
  if (!PackedWeight::is_for(weight.dtype)) return nullptr;
  const auto* imported = dynamic_cast<const ImportedWeights*>(weight.buffer);
  return imported && imported->packed() ? imported->packed()->strips_of(weight) : nullptr;
}

}  // namespace parlance
