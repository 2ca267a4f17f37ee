// What the instruction sets run for one window of the detector.
#pragma once

#include "kernels/cpu/isa.h"
#include "vad/silero.h"

namespace parlance::vad {

#if PARLANCE_X86
SileroVad::Step silero_step_avx2;
SileroVad::Step silero_step_avx512;
#elif PARLANCE_NEON
SileroVad::Step silero_step_neon;
#endif

}  // namespace parlance::vad
