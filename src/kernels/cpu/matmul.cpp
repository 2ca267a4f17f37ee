// matmul on the CPU: which kernel serves which type on which instruction set.
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/matmul/scalar.h"

namespace parlance {

namespace {

constexpr DType kQuantisedTypes[] = {DType::q8_0, DType::q4_0, DType::q4_1,   DType::q5_0,
                                     DType::q5_1, DType::q2_k, DType::q3_k,   DType::q4_k,
                                     DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq4_xs};
constexpr DType kFloatTypes[] = {DType::f32, DType::f16, DType::bf16};

}  // namespace

// All quantised types share one cell, and all float types another, so that products of the same x whose
// weights differ in type run together.
void fill_matmul(OpTable& table, Isa isa) {
  (void)isa;
  for (const DType dtype : kQuantisedTypes)
    table.matmul[static_cast<size_t>(dtype)] = matmul::scalar_quantised();
  for (const DType dtype : kFloatTypes) table.matmul[static_cast<size_t>(dtype)] = matmul::scalar_float();
}

}  // namespace parlance
