// A few tokens rounded to bytes, once for all weights that they meet: what quantised_few.cu copies to shared
// memory.
#pragma once

#include <vector_types.h>

#include <cstdint>

#include "kernels/op_table.h"

namespace parlance::cuda {

// In scratch memory. Runs are of kRunValues; of `room` tokens n_tokens exist: what the others have is not set.
// scales are the step of a run, and what IntegerZeros are with weights of an offset of 8; sums are step * sum
// of the codes of each half of a run.
struct FewTokens {
  int8_t* codes;   // [n_in, room]
  float2* scales;  // [room, n_runs]
  float2* sums;    // [room, n_runs]
  int n_in, n_tokens, room;
};

// Normalises them first where `norm`, f32 [n_in], is there. n_in is a multiple of kQuantisedUnitValues; x and
// norm begin at multiples of 16 bytes.
FewTokens round_few(Stream& stream, const Tensor& x, const Tensor& norm, float eps, int room);

}  // namespace parlance::cuda
