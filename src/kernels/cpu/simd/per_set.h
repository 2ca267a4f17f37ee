// Includes the file that PARLANCE_SIMD_FILE names once for each instruction set of the architecture, in a namespace of
// the set's name: avx2, avx512, or neon. There, `Lanes` is the set, and PARLANCE_SIMD makes functions for it. Included
// where functions may stand, for each file anew.
#if PARLANCE_X86
namespace avx2 {
#define PARLANCE_SIMD PARLANCE_AVX2
using Lanes = ::parlance::simd::Avx2;
#include PARLANCE_SIMD_FILE
#undef PARLANCE_SIMD
}  // namespace avx2
namespace avx512 {
#define PARLANCE_SIMD PARLANCE_AVX512
using Lanes = ::parlance::simd::Avx512;
#include PARLANCE_SIMD_FILE
#undef PARLANCE_SIMD
}  // namespace avx512
#elif PARLANCE_NEON
namespace neon {
#define PARLANCE_SIMD
using Lanes = ::parlance::simd::Neon;
#include PARLANCE_SIMD_FILE
#undef PARLANCE_SIMD
}  // namespace neon
#endif
#undef PARLANCE_SIMD_FILE
