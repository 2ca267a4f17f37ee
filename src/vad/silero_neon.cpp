// One window of the detector for NEON.
#include <cmath>

#include "kernels/cpu/simd/neon.h"
#include "vad/silero_kernels.h"

#if PARLANCE_NEON

namespace parlance::vad {

namespace {

#define PARLANCE_SIMD
using Lanes = simd::Neon;
#include "vad/silero_step.simd.h"

}  // namespace

float silero_step_neon(const SileroModel& model, SileroActivations& activations, SileroState& state) {
  return run_step(model, activations, state);
}

}  // namespace parlance::vad

#endif
