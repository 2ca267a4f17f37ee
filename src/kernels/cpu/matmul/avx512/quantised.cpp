#include "kernels/cpu/matmul/avx512/quantised.h"

#include "kernels/cpu/matmul/cells.h"

#ifdef PARLANCE_X86

namespace parlance::matmul {

namespace {

using namespace avx512;

struct Set : CommonSet {
  static constexpr int kTileTokens = avx512::kTileTokens;
  static constexpr int8_t kCodeFlip = -128;

  static QuantisedKernel kernel(DType dtype) { return quantised_kernel(dtype); }
};

}  // namespace

QuantisedKernel avx512::quantised_kernel(DType dtype) {
  switch (dtype) {
    case DType::q8_0:
      return {gemv_q8_0, unpack_q8_0, multiply_runs, Order::by_runs, gemv_strips_q8_0, unpack_strip_q8_0};
    case DType::q4_0:
      return {gemv_q4_0, unpack_q4_0, multiply_runs, Order::by_runs, gemv_strips_q4_0, unpack_strip_q4_0};
    case DType::q4_1:
      return {gemv_q4_1, unpack_q4_1, multiply_runs_with_offset, Order::by_runs};
    case DType::q5_0:
      return {gemv_q5_0, unpack_q5_0, multiply_runs, Order::by_runs};
    case DType::q5_1:
      return {gemv_q5_1, unpack_q5_1, multiply_runs_with_offset, Order::by_runs};
    case DType::iq4_nl:
      return {gemv_iq4_nl, unpack_iq4_nl, multiply_runs, Order::by_runs};
    case DType::q2_k:
      return {gemv_q2_k, unpack_q2_k, multiply_half_runs_with_offset, Order::by_half_runs};
    case DType::q3_k:
      return {gemv_q3_k, unpack_q3_k, multiply_half_runs, Order::by_half_runs};
    case DType::q4_k:
      return {gemv_q4_k,           unpack_q4_k,      multiply_runs_with_offset,
              Order::by_half_runs, gemv_strips_q4_k, unpack_strip_q4_k};
    case DType::q5_k:
      return {gemv_q5_k, unpack_q5_k, multiply_runs_with_offset, Order::by_half_runs};
    case DType::q6_k:
      return {gemv_q6_k,           unpack_q6_k,      multiply_half_runs,
              Order::by_half_runs, gemv_strips_q6_k, unpack_strip_q6_k};
    default:
      return {gemv_iq4_xs, unpack_iq4_xs, multiply_runs, Order::by_half_runs};
  }
}

Cell<MatmulArgs> quantised_avx512() {
  return QuantisedMatmul<Set>::cell();
}

}  // namespace parlance::matmul

#endif
