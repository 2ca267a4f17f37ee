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

// A head vector in the bytes of a cache format.
using EncodeRow = void(const float* x, std::byte* out, int64_t n);
EncodeRow* encode_row_of(Isa isa, KvFormat format);

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
