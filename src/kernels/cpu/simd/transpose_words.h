// Four words of four vectors of AVX-512, in every 128 bits.
#pragma once

#include "kernels/cpu/isa.h"

#ifdef PARLANCE_X86

namespace parlance::simd {

// Word i of each quarter of w[k] becomes word k of that quarter of w[i].
PARLANCE_AVX512 PARLANCE_INLINE void transpose_words(__m512i (&w)[4]) {
  const __m512i low01 = _mm512_unpacklo_epi32(w[0], w[1]), high01 = _mm512_unpackhi_epi32(w[0], w[1]);
  const __m512i low23 = _mm512_unpacklo_epi32(w[2], w[3]), high23 = _mm512_unpackhi_epi32(w[2], w[3]);
  w[0] = _mm512_unpacklo_epi64(low01, low23);
  w[1] = _mm512_unpackhi_epi64(low01, low23);
  w[2] = _mm512_unpacklo_epi64(high01, high23);
  w[3] = _mm512_unpackhi_epi64(high01, high23);
}

}  // namespace parlance::simd

#endif
