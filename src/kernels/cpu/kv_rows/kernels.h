// What writing and reading a KV cache does to one head vector, by instruction set: the transforms between
// head vectors and stored values, and the encoders of the formats.
#pragma once

#include <array>

#include "kernels/cpu/rows.h"
#include "quant/kv_format.h"

namespace parlance::kv_rows {

// x [n] in the bytes of a format; n is a multiple of its block.
using EncodeRow = void(const float* x, std::byte* out, int64_t n);

// Codes are those of the scalar encoders except where a value lies within rounding of the boundary between
// two. By KvFormat; null: the scalar encoder.
struct Encoders {
  std::array<EncodeRow*, kKvFormatCount> compatible, search;

  EncodeRow* of(const KvCoding& coding) const {
    const auto& encoders = coding.encoder == KvEncoder::search ? search : compatible;
    return encoders[static_cast<size_t>(coding.format)];
  }
};

// As the functions of quant/kv_transform.h; the Hadamard transforms bit for bit.
#if defined(__x86_64__)
TransformRow to_stored_avx2, from_stored_avx2;
TransformRow to_stored_avx512, from_stored_avx512;
EncodeRow to_q8_0_avx2;
extern const Encoders kAvx2;
extern const Encoders kAvx512;
#elif defined(__aarch64__)
TransformRow to_stored_neon, from_stored_neon;
extern const Encoders kNeon;
#endif

}  // namespace parlance::kv_rows
