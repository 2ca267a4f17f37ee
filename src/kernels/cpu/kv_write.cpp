// kv_write and kv_compress on the CPU: encode head vectors into pages.
#include <cassert>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd/avx2.h"
#include "kernels/cpu/simd/neon.h"
#include "quant/float_rows.h"
#include "quant/q8_0.h"

namespace parlance {

namespace {

// Rows of finite numbers are encoded as the formats' scalar definitions do, byte for byte.

PARLANCE_INLINE void to_bf16(const float* x, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bf16_bits bits = bf16_from_f32(x[i]);
    std::memcpy(out + 2 * i, &bits, sizeof bits);
  }
}

#if PARLANCE_X86

PARLANCE_AVX2 void to_bf16_avx2(const float* x, std::byte* out, int64_t n) {
  to_bf16(x, out, n);
}
PARLANCE_AVX512 void to_bf16_avx512(const float* x, std::byte* out, int64_t n) {
  to_bf16(x, out, n);
}

PARLANCE_AVX2 void to_f16_avx2(const float* x, std::byte* out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * i), half);
  }
  for (; i < n; ++i) {
    const uint16_t bits = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(out + 2 * i, &bits, sizeof bits);
  }
}

PARLANCE_AVX512 void to_f16_avx512(const float* x, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    const auto mask = static_cast<__mmask16>(n - i >= 16 ? 0xffff : (1u << (n - i)) - 1);
    const __m256i half = _mm512_cvtps_ph(_mm512_maskz_loadu_ps(mask, x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm256_mask_storeu_epi16(out + 2 * i, mask, half);
  }
}

// The low bytes of the rounded values. Truncation after adding the float below one half rounds halves away
// from zero, and nothing else.
PARLANCE_AVX2 PARLANCE_INLINE __m256i rounded_codes(__m256 scaled) {
  const __m256 sign = _mm256_and_ps(scaled, _mm256_set1_ps(-0.0f));
  const __m256i codes =
      _mm256_cvttps_epi32(_mm256_add_ps(scaled, _mm256_or_ps(sign, _mm256_set1_ps(0x1.fffffep-2f))));
  return _mm256_and_si256(codes, _mm256_set1_epi32(0xff));
}

PARLANCE_AVX2 void to_q8_0_avx2(const float* x, std::byte* out, int64_t n) {
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // undoes the packing by 128-bit lanes
  for (int64_t block = 0; block < n / 32; ++block, x += 32, out += sizeof(BlockQ8_0)) {
    __m256 largest = _mm256_setzero_ps();
    for (int i = 0; i < 32; i += 8) {
      largest =
          _mm256_max_ps(_mm256_and_ps(_mm256_loadu_ps(x + i), magnitude), largest);  // NaN is passed over
    }
    const float d = simd::Avx2::largest(largest) / 127;
    const __m256 inverse = _mm256_set1_ps(d != 0 ? 1 / d : 0);
    const uint16_t d_bits = _cvtss_sh(d, _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(out, &d_bits, sizeof d_bits);
    const __m256i a = rounded_codes(_mm256_mul_ps(_mm256_loadu_ps(x), inverse));
    const __m256i b = rounded_codes(_mm256_mul_ps(_mm256_loadu_ps(x + 8), inverse));
    const __m256i c = rounded_codes(_mm256_mul_ps(_mm256_loadu_ps(x + 16), inverse));
    const __m256i e = rounded_codes(_mm256_mul_ps(_mm256_loadu_ps(x + 24), inverse));
    const __m256i codes = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, e));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 2), _mm256_permutevar8x32_epi32(codes, order));
  }
}

#elif PARLANCE_NEON

void to_f16_neon(const float* x, std::byte* out, int64_t n) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1_u16(reinterpret_cast<uint16_t*>(out + 2 * i), vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
  }
  if (i < n) {
    uint16_t rest[4];
    vst1_u16(rest, vreinterpret_u16_f16(vcvt_f16_f32(simd::Neon::load_first(x + i, n - i))));
    std::memcpy(out + 2 * i, rest, static_cast<size_t>(n - i) * sizeof(uint16_t));
  }
}

void to_q8_0_neon(const float* x, std::byte* out, int64_t n) {
  for (int64_t block = 0; block < n / 32; ++block, x += 32, out += sizeof(BlockQ8_0)) {
    float32x4_t largest = vdupq_n_f32(0);
    for (int i = 0; i < 32; i += 4) largest = vmaxnmq_f32(largest, vabsq_f32(vld1q_f32(x + i)));
    const float d = vmaxvq_f32(largest) / 127;
    const float inverse = d != 0 ? 1 / d : 0;
    const f16_bits d_bits = f16_from_f32(d);
    std::memcpy(out, &d_bits, sizeof d_bits);
    for (int i = 0; i < 32; i += 8) {  // vcvta rounds halves away from zero
      const int32x4_t low = vcvtaq_s32_f32(vmulq_n_f32(vld1q_f32(x + i), inverse));
      const int32x4_t high = vcvtaq_s32_f32(vmulq_n_f32(vld1q_f32(x + i + 4), inverse));
      const int8x8_t codes = vmovn_s16(vcombine_s16(vmovn_s32(low), vmovn_s32(high)));
      vst1_s8(reinterpret_cast<int8_t*>(out + 2 + i), codes);
    }
  }
}

#endif

template <Isa isa>
void run_kv_write(Stream& stream, const KvWriteArgs& args) {
  const KvView& kv = written_view(args.kv);
  const RowEncoder encode_k(isa, kv.k), encode_v(isa, kv.v);
  const auto* k = args.k.as<const float>();
  const auto* v = args.v.as<const float>();
  const int64_t token_elements = kv.n_head_kv * (kv.head_dim_k + kv.head_dim_v);
  parallel_rows(pool_of(stream), args.k.ne[2], token_elements, [&](int64_t first, int64_t last) {
    for (int64_t token = first; token < last; ++token) {
      const TokenSlot slot = slot_of(kv, args.batch, token);
      for (int64_t head = 0; head < kv.n_head_kv; ++head) {
        const int64_t row = token * kv.n_head_kv + head;
        encode_k(k + row * kv.head_dim_k, slot.k_row(kv, head), kv.head_dim_k);
        encode_v(v + row * kv.head_dim_v, slot.v_row(kv, head), kv.head_dim_v);
      }
    }
  });
}

// One side of one head of a page: rows of f16, the exact format.
void compress_rows(const RowEncoder& encode, const std::byte* from, std::byte* to, int64_t n_rows,
                   size_t from_bytes, size_t to_bytes, int64_t head_dim, float* x) {
  for (int64_t row = 0; row < n_rows; ++row, from += from_bytes, to += to_bytes) {
    decode_row_f16(from, x, head_dim);
    encode(x, to, head_dim);
  }
}

// Floats of scratch memory for each thread.
int64_t widest_head(const KvView& kv) {
  return align_up(std::max(kv.head_dim_k, kv.head_dim_v), int64_t{16});
}

size_t scratch_of_compress(const KvCompressArgs& args, int n_threads) {
  return static_cast<size_t>(n_threads * widest_head(args.kv)) * sizeof(float);
}

template <Isa isa>
void run_kv_compress(Stream& stream, const KvCompressArgs& args) {
  const KvView& kv = args.kv;
  const KvView& exact = *kv.exact;
  assert(exact.k.format == KvFormat::f16 && exact.v.format == KvFormat::f16);
  const RowEncoder encode_k(isa, kv.k), encode_v(isa, kv.v);
  const auto* moves = args.moves.as<const int32_t>();
  pool_of(stream).run(args.moves.ne[1] * kv.n_head_kv, [&](int64_t task, int thread) {
    const int32_t* move = moves + 2 * (task / kv.n_head_kv);
    const int64_t head = task % kv.n_head_kv;
    const std::byte* from = exact.pages + static_cast<size_t>(move[0]) * exact.page_bytes;
    std::byte* to = kv.pages + static_cast<size_t>(move[1]) * kv.page_bytes;
    float* x = reinterpret_cast<float*>(stream.scratch().data()) + thread * widest_head(kv);
    compress_rows(encode_k, from + exact.k_offset(head), to + kv.k_offset(head), kv.page_tokens,
                  exact.k_row_bytes, kv.k_row_bytes, kv.head_dim_k, x);
    compress_rows(encode_v, from + exact.v_offset(head), to + kv.v_offset(head), kv.page_tokens,
                  exact.v_row_bytes, kv.v_row_bytes, kv.head_dim_v, x);
  });
}

using EncodeRow = void(const float* x, std::byte* out, int64_t n);

EncodeRow* encode_row_of([[maybe_unused]] Isa isa, const KvCoding& coding) {
  const KvFormat format = coding.format;
#if PARLANCE_X86
  const bool is_avx512 = isa == Isa::avx512 || isa == Isa::avx512_bf16;
  if (is_avx512 || isa == Isa::avx2) {
    if (format == KvFormat::f16) return is_avx512 ? to_f16_avx512 : to_f16_avx2;
    if (format == KvFormat::bf16) return is_avx512 ? to_bf16_avx512 : to_bf16_avx2;
    if (format == KvFormat::q8_0) return to_q8_0_avx2;
  }
#elif PARLANCE_NEON
  if (is_neon(isa)) {
    if (format == KvFormat::f16) return to_f16_neon;
    if (format == KvFormat::bf16) return to_bf16;
    if (format == KvFormat::q8_0) return to_q8_0_neon;
  }
#endif
  return coding.encoder == KvEncoder::search ? traits(format).search_row : traits(format).encode_row;
}

}  // namespace

RowEncoder::RowEncoder(Isa isa, const KvCoding& coding)
    : encode_(encode_row_of(isa, coding)),
      to_stored_(coding.transform() == KvTransform::hadamard ? to_stored_of(isa) : nullptr) {}

void RowEncoder::operator()(const float* x, std::byte* out, int64_t n) const {
  if (!to_stored_) return encode_(x, out, n);
  thread_local std::vector<float> rotated;
  rotated.resize(static_cast<size_t>(n));
  to_stored_(KvTransform::hadamard, x, rotated.data(), n);
  encode_(rotated.data(), out, n);
}

TokenSlot slot_of(const KvView& kv, const BatchView& batch, int64_t token) {
  const int64_t pos = batch.pos.as<const int32_t>()[token];
  const int64_t seq = batch.seq.as<const int32_t>()[token];
  const int32_t page = kv.page_table.as<const int32_t>()[seq * kv.page_table.ne[0] + pos / kv.page_tokens];
  return {kv.pages + static_cast<size_t>(page) * kv.page_bytes, pos % kv.page_tokens};
}

void fill_kv_write(OpTable& table, Isa isa) {
  const auto fill = [&table](auto write, auto compress) {
    for (auto& row : table.kv_write) row.fill({write});
    for (auto& row : table.kv_compress) row.fill({compress, scratch_of_compress});
  };
  table.transforms_kv = true;
  fill(run_kv_write<Isa::scalar>, run_kv_compress<Isa::scalar>);
  if (isa == Isa::avx2) fill(run_kv_write<Isa::avx2>, run_kv_compress<Isa::avx2>);
  if (isa == Isa::avx512 || isa == Isa::avx512_bf16) fill(run_kv_write<Isa::avx512>, run_kv_compress<Isa::avx512>);
  if (is_neon(isa)) fill(run_kv_write<Isa::neon>, run_kv_compress<Isa::neon>);
}

}  // namespace parlance
