// gemv with AVX-512: the loop that all formats share. The codes of a group of 128 or 256 values of a row are
// multiplied with the activations' as integers, sixteen sums at a time; each lane is then scaled and added up
// in f32, and lanes meet only at the end of the row. A format is a struct with
//
//   kValues, kBytes     of a group
//   kVectors            vectors of 64 unsigned codes in a group, in the order kOrder of the activations
//   kVectorsPerStep     neighbouring vectors in which a lane has the same step
//   codes(group, u)     those vectors
//   Lanes               __m128, __m256 or __m512: the steps of a group, one in each lane
//   steps(group, step, offset)
//   step_lanes(i)       the lanes of Lanes that the lanes of vector i * kVectorsPerStep take their steps from
//   x_steps, x_sums     what step and offset are multiplied with, from the activations of the group
#pragma once

#include "kernels/cpu/matmul/avx512/quantised.h"
#include "quant/iq4_nl.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::avx512 {

#define INLINE_AVX512 PARLANCE_AVX512 PARLANCE_INLINE

INLINE_AVX512 __m128 multiply(__m128 a, __m128 b) {
  return _mm_mul_ps(a, b);
}
INLINE_AVX512 __m256 multiply(__m256 a, __m256 b) {
  return _mm256_mul_ps(a, b);
}
INLINE_AVX512 __m512 multiply(__m512 a, __m512 b) {
  return _mm512_mul_ps(a, b);
}

INLINE_AVX512 __m128 multiply_add(__m128 a, __m128 b, __m128 c) {
  return _mm_fmadd_ps(a, b, c);
}
INLINE_AVX512 __m256 multiply_add(__m256 a, __m256 b, __m256 c) {
  return _mm256_fmadd_ps(a, b, c);
}
INLINE_AVX512 __m512 multiply_add(__m512 a, __m512 b, __m512 c) {
  return _mm512_fmadd_ps(a, b, c);
}

// In the low lanes of a whole vector.
INLINE_AVX512 __m512 widen(__m128 a) {
  return _mm512_zextps128_ps512(a);
}
INLINE_AVX512 __m512 widen(__m256 a) {
  return _mm512_zextps256_ps512(a);
}
INLINE_AVX512 __m512 widen(__m512 a) {
  return a;
}

INLINE_AVX512 void clear(__m128& a) {
  a = _mm_setzero_ps();
}
INLINE_AVX512 void clear(__m256& a) {
  a = _mm256_setzero_ps();
}
INLINE_AVX512 void clear(__m512& a) {
  a = _mm512_setzero_ps();
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

// What the rows of a task share of one token's group.
template <class Format>
struct GroupActivations {
  const int8_t* codes;
  typename Format::Lanes steps, sums;
};

template <class Format>
struct RowSum {
  __m512 products;
  typename Format::Lanes offsets;
};

template <class Format, int kTokens, int kRows>
INLINE_AVX512 void add_group(const std::byte* group, size_t row_bytes, const RowActivations* x, int64_t index,
                             RowSum<Format> (&sums)[kRows][kTokens]) {
  GroupActivations<Format> activations[kTokens];
  for (int t = 0; t < kTokens; ++t) {
    activations[t].codes = x[t].codes[static_cast<size_t>(Format::kOrder)] + index * Format::kValues;
    activations[t].steps = Format::x_steps(x[t], index);
    activations[t].sums = Format::x_sums(x[t], index);
  }
  for (int r = 0; r < kRows; ++r) {
    __m512i u[Format::kVectors];
    typename Format::Lanes step, offset;
    Format::codes(group + r * row_bytes, u);
    Format::steps(group + r * row_bytes, step, offset);
    for (int t = 0; t < kTokens; ++t) {
      RowSum<Format>& sum = sums[r][t];
      sum.offsets = multiply_add(offset, activations[t].sums, sum.offsets);
      const __m512 scale = widen(multiply(step, activations[t].steps));
      for (int v = 0; v < Format::kVectors; v += Format::kVectorsPerStep) {
        __m512i dot = _mm512_setzero_si512();
        for (int i = v; i < v + Format::kVectorsPerStep; ++i) {
          dot = _mm512_dpbusd_epi32(dot, u[i], _mm512_loadu_si512(activations[t].codes + 64 * i));
        }
        const __m512 lane_scale =
            _mm512_permutexvar_ps(Format::step_lanes(v / Format::kVectorsPerStep), scale);
        sum.products = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), lane_scale, sum.products);
      }
    }
  }
}

// Several rows at once are too many short streams for the processor's own prefetching: the weights are asked
// for, as one stream, this far ahead of the rows that are multiplied.
constexpr int64_t kPrefetchBytes = 4096;

template <class Format, int kTokens, int kRows>
INLINE_AVX512 void multiply_rows(const GemvArgs& args, int64_t first) {
  RowSum<Format> sums[kRows][kTokens];
  for (int r = 0; r < kRows; ++r) {
    for (int t = 0; t < kTokens; ++t) {
      sums[r][t].products = _mm512_setzero_ps();
      clear(sums[r][t].offsets);
    }
  }
  const std::byte* weight = args.weight + static_cast<size_t>(first) * args.row_bytes;
  const int64_t n_groups = args.n_in / Format::kValues;
  const std::byte* ahead = weight + kRows * args.row_bytes + kPrefetchBytes;
  for (int64_t g = 0; g < n_groups; ++g) {
    for (int64_t i = 0; i < kRows * Format::kBytes; i += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(ahead + i), _MM_HINT_T1);
    }
    ahead += kRows * Format::kBytes;
    add_group<Format, kTokens, kRows>(weight + g * Format::kBytes, args.row_bytes, args.x, g, sums);
  }
  if (n_groups * Format::kValues !=
      args.n_in) {  // blocks short of a group: their copy is filled up with zeros
    alignas(64) std::byte group[kRows * Format::kBytes] = {};
    const size_t done = static_cast<size_t>(n_groups) * Format::kBytes;
    for (int r = 0; r < kRows; ++r) {
      std::memcpy(group + r * Format::kBytes, weight + r * args.row_bytes + done, args.row_bytes - done);
    }
    add_group<Format, kTokens, kRows>(group, Format::kBytes, args.x, n_groups, sums);
  }

  for (int t = 0; t < kTokens; ++t) {
    for (int r = 0; r < kRows; r += 4) {
      __m512 total[4];
      for (int i = 0; i < 4; ++i) {
        const RowSum<Format>& sum = sums[std::min(r + i, kRows - 1)][t];
        total[i] = _mm512_add_ps(sum.products, widen(sum.offsets));
      }
      const __mmask8 rows = static_cast<__mmask8>((1 << std::min(4, kRows - r)) - 1);
      __m128 out = sums_of_four(total);
      if (args.bias) out = _mm_add_ps(out, _mm_maskz_loadu_ps(rows, args.bias + first + r));
      _mm_mask_storeu_ps(args.out + t * args.out_stride + first + r, rows, out);
    }
  }
}

template <class Format, int kTokens, int kRows>
PARLANCE_AVX512 void multiply_all_rows(const GemvArgs& args) {
  int64_t r = 0;
  for (; r + kRows <= args.n_rows; r += kRows) multiply_rows<Format, kTokens, kRows>(args, r);
  for (; r < args.n_rows; ++r) multiply_rows<Format, kTokens, 1>(args, r);
}

template <class Format>
PARLANCE_AVX512 void gemv(const GemvArgs& args) {
  static_assert(kGemvTokens == 4);
  switch (args.n_tokens) {
    case 1:
      return multiply_all_rows<Format, 1, 4>(args);
    case 2:
      return multiply_all_rows<Format, 2, 4>(args);
    case 3:
      return multiply_all_rows<Format, 3, 2>(args);
    default:
      return multiply_all_rows<Format, 4, 2>(args);
  }
}

}  // namespace parlance::matmul::avx512

#endif
