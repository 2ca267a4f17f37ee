// Function attributes that compile one function for an instruction set while the file stays at the baseline.
// Kernels for a set carry its attribute, helpers they inline carry it too (with PARLANCE_INLINE); lambdas do
// not inherit it, so kernels use none. Which set runs is decided at start by available_isas().
#pragma once

#define PARLANCE_INLINE inline __attribute__((always_inline))

#if defined(__x86_64__)
#define PARLANCE_X86 1
#define PARLANCE_AVX2 __attribute__((target("avx2,fma,f16c,bmi2")))
#define PARLANCE_AVX512 \
  __attribute__((target("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define PARLANCE_AVX512_BF16 \
  __attribute__((target("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")))
#define PARLANCE_AVX512_VBMI \
  __attribute__((target("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi")))
#define PARLANCE_AMX                                                                                     \
  __attribute__((                                                                                        \
      target("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,amx-tile,amx-" \
             "int8,amx-bf16")))
// GCC's header reads registers it never set, on purpose, and warns of it where the intrinsics are inlined.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#elif defined(__aarch64__)
#define PARLANCE_NEON 1
#if defined(__clang__)
#define PARLANCE_NEON_DOTPROD __attribute__((target("dotprod")))
#define PARLANCE_NEON_I8MM __attribute__((target("dotprod,i8mm")))
#else
#define PARLANCE_NEON_DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#define PARLANCE_NEON_I8MM __attribute__((target("arch=armv8.2-a+dotprod+i8mm")))
#endif
#include <arm_neon.h>
#endif
