// From the type of a weight to the struct that unpacks it (weights.cuh).
#pragma once

#include "base/dtype.h"
#include "kernels/cuda/weights.cuh"

namespace parlance::cuda {

inline constexpr DType kBlockTypes[] = {DType::q8_0, DType::q4_0, DType::q4_1,   DType::q5_0,
                                        DType::q5_1, DType::q2_k, DType::q3_k,   DType::q4_k,
                                        DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq4_xs};
inline constexpr DType kFloatTypes[] = {DType::f32, DType::f16, DType::bf16};

// Calls visit(struct of the type) if it is one of kBlockTypes.
template <class Visit>
void visit_block_type(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::q8_0:
      return visit(Q8_0{});
    case DType::q4_0:
      return visit(Q4_0{});
    case DType::q4_1:
      return visit(Q4_1{});
    case DType::q5_0:
      return visit(Q5_0{});
    case DType::q5_1:
      return visit(Q5_1{});
    case DType::q2_k:
      return visit(Q2K{});
    case DType::q3_k:
      return visit(Q3K{});
    case DType::q4_k:
      return visit(Q4K{});
    case DType::q5_k:
      return visit(Q5K{});
    case DType::q6_k:
      return visit(Q6K{});
    case DType::iq4_nl:
      return visit(Iq4Nl{});
    case DType::iq4_xs:
      return visit(Iq4Xs{});
    default:
      return;
  }
}

// The same for kFloatTypes.
template <class Visit>
void visit_float_type(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::f32:
      return visit(F32{});
    case DType::f16:
      return visit(F16{});
    case DType::bf16:
      return visit(Bf16{});
    default:
      return;
  }
}

}  // namespace parlance::cuda
