// matmul on the CPU: which kernel serves which type on which instruction set.
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/matmul/cells.h"
#include "kernels/cpu/matmul/floats.h"
#include "kernels/cpu/matmul/packed_weight.h"
#include "kernels/cpu/matmul/scalar.h"

namespace parlance {

namespace {

constexpr DType kQuantisedTypes[] = {DType::q8_0, DType::q4_0, DType::q4_1,   DType::q5_0,
                                     DType::q5_1, DType::q2_k, DType::q3_k,   DType::q4_k,
                                     DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq4_xs};
constexpr DType kFloatTypes[] = {DType::f32, DType::f16, DType::bf16};

Cell<MatmulArgs> quantised_cell(Isa isa, [[maybe_unused]] bool deterministic) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::avx2:
      return matmul::quantised_avx2();
    case Isa::avx512:
    case Isa::avx512_bf16:
      return matmul::quantised_avx512();
    case Isa::avx512_amx:
      return matmul::quantised_amx(deterministic);
#elif defined(__aarch64__)
    case Isa::neon:
      return matmul::quantised_neon();
    case Isa::neon_dotprod:
      return matmul::quantised_neon_dotprod();
    case Isa::neon_i8mm:
      return matmul::quantised_neon_i8mm();
#endif
    default:
      return matmul::scalar_quantised();
  }
}

Cell<MatmulArgs> float_cell(Isa isa, [[maybe_unused]] bool deterministic) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::avx2:
      return matmul::float_cell<matmul::kFloatsAvx2>();
    case Isa::avx512:
      return deterministic ? matmul::float_cell<matmul::kDeterministicFloatsAvx512>()
                           : matmul::float_cell<matmul::kFloatsAvx512>();
    case Isa::avx512_bf16:
      return deterministic ? matmul::float_cell<matmul::kDeterministicFloatsAvx512Bf16>()
                           : matmul::float_cell<matmul::kFloatsAvx512Bf16>();
    case Isa::avx512_amx:
      return deterministic ? matmul::float_cell<matmul::kDeterministicFloatsAmx>()
                           : matmul::float_cell<matmul::kFloatsAmx>();
#elif defined(__aarch64__)
    case Isa::neon:
    case Isa::neon_dotprod:
    case Isa::neon_i8mm:
      return matmul::float_cell<matmul::kFloatsNeon>();
#endif
    default:
      return matmul::scalar_float();
  }
}

}  // namespace

// More rows meet f16 weights as 16-bit integers, and quantised ones on AMX as bf16.
int64_t most_alike_rows(Isa isa, bool deterministic, DType weights) {
  if (deterministic) return INT64_MAX;
#if defined(__x86_64__)
  if (weights == DType::f16 && is_avx512(isa)) return matmul::FloatKernels::kMostGemvTokens;
  if (traits(weights).block_elements > 1 && isa == Isa::avx512_amx)
    return matmul::amx::most_alike_rows(weights);
#endif
  return INT64_MAX;
}

bool reads_packed([[maybe_unused]] Isa isa, [[maybe_unused]] DType weights) {
#if defined(__x86_64__)
  return is_avx512(isa) && PackedWeight::is_for(weights);
#else
  return false;
#endif
}

// All quantised types share one cell, and all float types another, so that products of the same x whose
// weights differ in type run together.
void fill_matmul(OpTable& table, Isa isa, bool deterministic) {
  for (const DType dtype : kQuantisedTypes)
    table.matmul[static_cast<size_t>(dtype)] = quantised_cell(isa, deterministic);
  for (const DType dtype : kFloatTypes)
    table.matmul[static_cast<size_t>(dtype)] = float_cell(isa, deterministic);
}

}  // namespace parlance
