// What the operations do to one row or head, by instruction set: for operations that do several of them in
// one pass. Each is defined in the file of its operation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/cpu_device.h"
#include "kernels/op_table.h"

namespace parlance {

// out = x / sqrt(mean(x^2) + eps) * weight; out may be x.
using NormaliseRow = void(const float* x, const float* weight, float* out, int64_t n, float eps);
NormaliseRow* normalise_row_of(Isa isa);

// out = silu(gate) * up; out may be gate or up.
using SwigluElements = void(const float* gate, const float* up, float* out, int64_t n);
SwigluElements* swiglu_of(Isa isa);

// Rotates the pairs of a head in place.
using RotateHead = void(float* head, const float* cosines, const float* sines, int64_t n_pairs);
RotateHead* rotate_head_of(Isa isa, RopeStyle style);

// A head vector in the bytes of a cache.
class RowEncoder {
 public:
  RowEncoder(Isa isa, const KvCoding& coding);
  void operator()(const float* x, std::byte* out, int64_t n) const;
  bool operator==(const RowEncoder&) const = default;  // whether it is the same functions

 private:
  void (*encode_)(const float* x, std::byte* out, int64_t n);
  void (*to_stored_)(KvTransform transform, const float* q, float* stored, int64_t n);  // null: as it is
};

// The functions of quant/kv_transform.h.
using TransformRow = void(KvTransform transform, const float* in, float* out, int64_t n);
TransformRow* to_stored_of(Isa isa);
TransformRow* from_stored_of(Isa isa);

// The view whose pages new positions are written to.
inline const KvView& written_view(const KvView& kv) {
  return kv.exact ? *kv.exact : kv;
}

// Where a token's rows are: its page, and the row within each head's run.
struct TokenSlot {
  std::byte* page;
  int64_t slot;

  std::byte* k_row(const KvView& kv, int64_t head) const {
    return page + kv.k_offset(head) + static_cast<size_t>(slot) * kv.k_row_bytes;
  }
  std::byte* v_row(const KvView& kv, int64_t head) const {
    return page + kv.v_offset(head) + static_cast<size_t>(slot) * kv.v_row_bytes;
  }
};
TokenSlot slot_of(const KvView& kv, const BatchView& batch, int64_t token);

}  // namespace parlance
