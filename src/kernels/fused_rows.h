// What a device is beside a Device that takes rows through several operations in one go: see fused_ops.h.
// As op_table.h, for kernels.
#pragma once

#include <optional>

#include "kernels/op_table.h"

namespace parlance {

// What becomes of products on their way out.
enum class MatmulEnd : uint8_t {
  store,
  add,   // out[0] += the only product
  gate,  // out[0] = silu(the first product) * the second, which has no result of its own
};

struct FusedMatmulArgs {
  MatmulArgs products;
  Tensor norm = {};  // f32 [n_in]: x goes through rms_norm() with this weight first; or absent
  float norm_eps = 0;
  MatmulEnd end = MatmulEnd::store;
};

// norm_rope_write(), then attention() with its queries.
struct FusedAttentionArgs {
  NormRopeWriteArgs write;
  AttentionArgs attention;
};

class FusesRows {
 public:
  virtual ~FusesRows() = default;
  // Of x, so many, and weights of this type, or of any.
  virtual bool fuses_rows(int64_t n_rows, std::optional<DType> weights) const = 0;
  virtual const Cell<FusedMatmulArgs>& fused_matmul(DType weights) const = 0;
  virtual const Cell<FusedAttentionArgs>& fused_attention() const = 0;
};

}  // namespace parlance
