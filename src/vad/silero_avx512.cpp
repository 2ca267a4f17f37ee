// One window of the detector for AVX-512.
#include <cmath>

#include "kernels/cpu/simd/avx512.h"
#include "vad/silero_kernels.h"

#if PARLANCE_X86

namespace parlance::vad {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX512
using Lanes = simd::Avx512;
#include "vad/silero_step.simd.h"

}  // namespace

float silero_step_avx512(const SileroModel& model, SileroActivations& activations, SileroState& state) {
  return run_step(model, activations, state);
}

}  // namespace parlance::vad

#endif
