// One window of the detector for AVX2.
#include <cmath>

#include "kernels/cpu/simd/avx2.h"
#include "vad/silero_kernels.h"

#if PARLANCE_X86

namespace parlance::vad {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX2
using Lanes = simd::Avx2;
#include "vad/silero_step.simd.h"

}  // namespace

float silero_step_avx2(const SileroModel& model, SileroActivations& activations, SileroState& state) {
  return run_step(model, activations, state);
}

}  // namespace parlance::vad

#endif
