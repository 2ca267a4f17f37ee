// gemv with AVX-512: the loop that all formats share. Sixteen runs of values of a row (or half runs, where
// each has a step of its own) are a group, taken apart into vectors in which lane l holds four codes of run
// l. The products with the activations, in the same order, are summed as integers over all vectors, so that a
// lane ends with the sum of its run; this is scaled and added up in f32, and lanes meet only at the end of
// the row. Taking a group apart costs about as much as multiplying it with two tokens and is done once for
// all tokens. A format is a struct with
//
//   kValues, kBytes     of a group
//   kOrder              of the activations
//   codes(group, u)     unsigned codes: kValues / 64 vectors, piece p of every run in u[p]
//   kZero               value = step * (code - kZero); 0: value = step * code + offset
//   steps(group, step, offset)   of each run
//   x_steps, x_sums     of each run of the group: the activations' steps, and the sums of their values
//   x_minus_codes       likewise minus the sums of their codes
#pragma once

#include <bit>

#include "kernels/cpu/matmul/avx512/quantised.h"
#include "quant/iq4_nl.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::avx512 {

#define INLINE_AVX512 PARLANCE_AVX512 PARLANCE_INLINE

// Sixteen numbers for the lanes of a vector, from their indices.
template <class T, int kLanes>
struct alignas(64) LaneTable {
  std::array<T, kLanes> values;

  template <class Function>
  constexpr explicit LaneTable(Function value_of) : values{} {
    for (int lane = 0; lane < kLanes; ++lane) values[lane] = static_cast<T>(value_of(lane));
  }
  INLINE_AVX512 operator __m512i() const { return _mm512_load_si512(values.data()); }
};

INLINE_AVX512 __m512i load(const void* bytes) {
  return _mm512_loadu_si512(bytes);
}
INLINE_AVX512 __m128i load16(const void* bytes) {
  return _mm_loadu_si128(static_cast<const __m128i*>(bytes));
}

// In every 16 bytes: the values of the IQ4 formats, moved up by 128.
INLINE_AVX512 __m512i iq4_table() {
  const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kIq4Values.data()));
  return _mm512_broadcast_i32x4(_mm_xor_si128(values, _mm_set1_epi8(-128)));
}

// Lane i: the sum of all lanes of v[i].
INLINE_AVX512 __m128 sums_of_four(const __m512 (&v)[4]) {
  const __m512 a = _mm512_add_ps(_mm512_unpacklo_ps(v[0], v[1]), _mm512_unpackhi_ps(v[0], v[1]));
  const __m512 b = _mm512_add_ps(_mm512_unpacklo_ps(v[2], v[3]), _mm512_unpackhi_ps(v[2], v[3]));
  const __m512d ad = _mm512_castps_pd(a), bd = _mm512_castps_pd(b);
  const __m512 c = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(ad, bd)),
                                 _mm512_castpd_ps(_mm512_unpackhi_pd(ad, bd)));
  const __m256 d = _mm256_add_ps(_mm512_castps512_ps256(c), _mm512_extractf32x8_ps(c, 1));
  return _mm_add_ps(_mm256_castps256_ps128(d), _mm256_extractf128_ps(d, 1));
}

// Several rows at once are too many short streams for the processor's own prefetching: the weights are asked
// for, as one stream, this far ahead of the rows that are multiplied.
constexpr int64_t kPrefetchBytes = 4096;

// The rows of a task that are multiplied together; beyond the last one it is repeated.
template <class Format, int kRows>
class RowGroup {
 public:
  PARLANCE_INLINE RowGroup(const GemvArgs& args, int64_t first)
      : n_groups_(div_up(args.n_in, Format::kValues)), whole_groups_(args.n_in / Format::kValues) {
    for (int r = 0; r < kRows; ++r) {
      rows_[r] = args.weight + static_cast<size_t>(std::min(first + r, args.n_rows - 1)) * args.row_bytes;
    }
    rest_bytes_ = args.row_bytes - static_cast<size_t>(whole_groups_) * Format::kBytes;
    ahead_ = rows_[0] + kRows * args.row_bytes + kPrefetchBytes;
  }

  int64_t n_groups() const { return n_groups_; }

  // Group `index` of each row. What a last group lacks is filled up with zeros in a copy.
  PARLANCE_INLINE void next(int64_t index, const std::byte* (&group)[kRows]) {
    for (int64_t i = 0; i < kRows * Format::kBytes; i += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(ahead_ + i), _MM_HINT_T1);
    }
    ahead_ += kRows * Format::kBytes;
    for (int r = 0; r < kRows; ++r) {
      group[r] = rows_[r];
      rows_[r] += Format::kBytes;
      if (index < whole_groups_) continue;
      std::memset(copy_[r], 0, Format::kBytes);
      std::memcpy(copy_[r], group[r], rest_bytes_);
      group[r] = copy_[r];
    }
  }

 private:
  int64_t n_groups_, whole_groups_;
  size_t rest_bytes_;
  const std::byte* rows_[kRows];
  const std::byte* ahead_;
  std::byte copy_[kRows][Format::kBytes];
};

// What the rows share of a token's group.
template <class Format>
struct GroupActivations {
  const int8_t* codes;
  __m512 steps, sums;
  __m512i start;  // of the integer sums: what code zero contributes, taken away

  INLINE_AVX512 GroupActivations(const RowActivations& x, int64_t group)
      : codes(x.codes[static_cast<size_t>(Format::kOrder)] + group * Format::kValues),
        steps(Format::x_steps(x, group)) {
    if constexpr (Format::kZero != 0) {
      static_assert(std::has_single_bit(static_cast<unsigned>(Format::kZero)));
      start = _mm512_slli_epi32(Format::x_minus_codes(x, group), std::countr_zero(unsigned{Format::kZero}));
    } else {
      sums = Format::x_sums(x, group);
      start = _mm512_setzero_si512();
    }
  }
};

// One row's group, ready for products.
template <class Format>
struct Group {
  static constexpr int kVectors = Format::kValues / 64;
  __m512i u[kVectors];
  __m512 step, offset;

  INLINE_AVX512 explicit Group(const std::byte* group) {
    Format::codes(group, u);
    Format::steps(group, step, offset);
  }

  INLINE_AVX512 __m512 add_products(const GroupActivations<Format>& x, __m512 sum) const {
    __m512i products = x.start;
    for (int v = 0; v < kVectors; ++v) products = _mm512_dpbusd_epi32(products, u[v], load(x.codes + 64 * v));
    const __m512 scale = _mm512_mul_ps(step, x.steps);
    if constexpr (Format::kZero == 0) sum = _mm512_fmadd_ps(offset, x.sums, sum);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(products), scale, sum);
  }
};

// One token times rows [first, first + 4).
template <class Format>
INLINE_AVX512 void multiply_token(const GemvArgs& args, int64_t first) {
  constexpr int kRows = 4;
  RowGroup<Format, kRows> rows(args, first);
  __m512 sums[kRows];
  for (int r = 0; r < kRows; ++r) sums[r] = _mm512_setzero_ps();
  for (int64_t g = 0; g < rows.n_groups(); ++g) {
    const std::byte* groups[kRows];
    rows.next(g, groups);
    const GroupActivations<Format> x(args.x[0], g);
    for (int r = 0; r < kRows; ++r) sums[r] = Group<Format>(groups[r]).add_products(x, sums[r]);
  }
  const int64_t n_rows = std::min<int64_t>(kRows, args.n_rows - first);
  const __mmask8 mask = static_cast<__mmask8>((1 << n_rows) - 1);
  __m128 out = sums_of_four(sums);
  if (args.bias) out = _mm_add_ps(out, _mm_maskz_loadu_ps(mask, args.bias + first));
  _mm_mask_storeu_ps(args.out + first, mask, out);
}

// The sums of two rows and of all tokens lie in memory: there may be more of them than registers.
constexpr int kPairRows = 2;
using PairSums = float[kGemvTokens][kPairRows][16];

// A group of two rows times all tokens. The first group of a row begins the sums.
template <class Format, bool kIsFirst>
INLINE_AVX512 void add_group(const GemvArgs& args, int64_t index, const std::byte* (&group)[kPairRows],
                             PairSums& sums) {
  const Group<Format> row0(group[0]), row1(group[1]);
  for (int t = 0; t < args.n_tokens; ++t) {
    const GroupActivations<Format> x(args.x[t], index);
    const __m512 sum0 = kIsFirst ? _mm512_setzero_ps() : _mm512_load_ps(sums[t][0]);
    const __m512 sum1 = kIsFirst ? _mm512_setzero_ps() : _mm512_load_ps(sums[t][1]);
    _mm512_store_ps(sums[t][0], row0.add_products(x, sum0));
    _mm512_store_ps(sums[t][1], row1.add_products(x, sum1));
  }
}

// One token: the sum of row 0 in eight lanes, that of row 1 in the others.
INLINE_AVX512 __m512 halved(const float (&sums)[kPairRows][16]) {
  const __m512 low =
      _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_load_ps(sums[0])), _mm256_load_ps(sums[1]), 1);
  const __m512 high =
      _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_load_ps(sums[0] + 8)), _mm256_load_ps(sums[1] + 8), 1);
  return _mm512_add_ps(low, high);
}

// From halved() of four tokens: the sums of row 0 in lanes 0..3, those of row 1 in lanes 8..11.
INLINE_AVX512 __m512 sums_of_pairs(__m512 p0, __m512 p1, __m512 p2, __m512 p3) {
  const __m512d a = _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(p0, p1), _mm512_unpackhi_ps(p0, p1)));
  const __m512d b = _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(p2, p3), _mm512_unpackhi_ps(p2, p3)));
  const __m512 c =
      _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
  return _mm512_add_ps(c, _mm512_shuffle_f32x4(c, c, 0b10'11'00'01));
}

// All tokens times rows first and first + 1.
template <class Format>
INLINE_AVX512 void multiply_tokens(const GemvArgs& args, int64_t first) {
  RowGroup<Format, kPairRows> rows(args, first);
  alignas(64) PairSums sums;
  const std::byte* group[kPairRows];
  rows.next(0, group);
  add_group<Format, true>(args, 0, group, sums);
  for (int64_t g = 1; g < rows.n_groups(); ++g) {
    rows.next(g, group);
    add_group<Format, false>(args, g, group, sums);
  }

  const bool both = first + 1 < args.n_rows;
  const __mmask8 mask = both ? 3 : 1;
  const float bias0 = args.bias ? args.bias[first] : 0.0f,
              bias1 = args.bias && both ? args.bias[first + 1] : 0.0f;
  const __m128 bias = _mm_setr_ps(bias0, bias1, bias0, bias1);
  const int last = args.n_tokens - 1;
  for (int t = 0; t < args.n_tokens; t += 4) {
    const int t1 = std::min(t + 1, last), t2 = std::min(t + 2, last), t3 = std::min(t + 3, last);
    const __m512 both_rows =
        sums_of_pairs(halved(sums[t]), halved(sums[t1]), halved(sums[t2]), halved(sums[t3]));
    const __m128 row0 = _mm512_castps512_ps128(both_rows), row1 = _mm512_extractf32x4_ps(both_rows, 2);
    const __m128 out01 = _mm_add_ps(_mm_unpacklo_ps(row0, row1), bias);
    const __m128 out23 = _mm_add_ps(_mm_unpackhi_ps(row0, row1), bias);
    float* out = args.out + first;
    _mm_mask_storeu_ps(out + t * args.out_stride, mask, out01);
    _mm_mask_storeu_ps(out + t1 * args.out_stride, mask, _mm_movehl_ps(out01, out01));
    _mm_mask_storeu_ps(out + t2 * args.out_stride, mask, out23);
    _mm_mask_storeu_ps(out + t3 * args.out_stride, mask, _mm_movehl_ps(out23, out23));
  }
}

template <class Format>
PARLANCE_AVX512 void gemv(const GemvArgs& args) {
  if (args.n_tokens == 1) {
    for (int64_t r = 0; r < args.n_rows; r += 4) multiply_token<Format>(args, r);
  } else {
    for (int64_t r = 0; r < args.n_rows; r += 2) multiply_tokens<Format>(args, r);
  }
}

}  // namespace parlance::matmul::avx512

#endif
