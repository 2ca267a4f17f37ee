// rope on the CPU: (a, b) -> (a cos - b sin, a sin + b cos) for every pair of a head.
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows.h"

namespace parlance {

namespace {

// Plain loops over memory that does not overlap: the compiler vectorises them for each instruction set.
PARLANCE_INLINE void rotate_halves(float* __restrict head, const float* __restrict cosines,
                                   const float* __restrict sines, int64_t n_pairs) {
  float* __restrict other = head + n_pairs;
  for (int64_t i = 0; i < n_pairs; ++i) {
    const float a = head[i];
    const float b = other[i];
    head[i] = a * cosines[i] - b * sines[i];
    other[i] = a * sines[i] + b * cosines[i];
  }
}

PARLANCE_INLINE void rotate_neighbours(float* __restrict head, const float* __restrict cosines,
                                       const float* __restrict sines, int64_t n_pairs) {
  for (int64_t i = 0; i < n_pairs; ++i) {
    const float a = head[2 * i];
    const float b = head[2 * i + 1];
    head[2 * i] = a * cosines[i] - b * sines[i];
    head[2 * i + 1] = a * sines[i] + b * cosines[i];
  }
}

void halves_scalar(float* head, const float* cosines, const float* sines, int64_t n_pairs) {
  rotate_halves(head, cosines, sines, n_pairs);
}
void neighbours_scalar(float* head, const float* cosines, const float* sines, int64_t n_pairs) {
  rotate_neighbours(head, cosines, sines, n_pairs);
}
#if PARLANCE_X86
PARLANCE_AVX2 void halves_avx2(float* head, const float* cosines, const float* sines, int64_t n_pairs) {
  rotate_halves(head, cosines, sines, n_pairs);
}
PARLANCE_AVX2 void neighbours_avx2(float* head, const float* cosines, const float* sines, int64_t n_pairs) {
  rotate_neighbours(head, cosines, sines, n_pairs);
}
PARLANCE_AVX512 void halves_avx512(float* head, const float* cosines, const float* sines, int64_t n_pairs) {
  rotate_halves(head, cosines, sines, n_pairs);
}
PARLANCE_AVX512 void neighbours_avx512(float* head, const float* cosines, const float* sines,
                                       int64_t n_pairs) {
  rotate_neighbours(head, cosines, sines, n_pairs);
}
#endif

template <RotateHead halves, RotateHead neighbours>
void run_rope(Stream& stream, const RopeArgs& args) {
  const int64_t head_dim = args.x.ne[0];
  const int64_t n_head = args.x.ne[1];
  const int64_t n_pairs = args.angles.ne[0];
  RotateHead* const rotate = args.style == RopeStyle::halves ? halves : neighbours;
  parallel_rows(pool_of(stream), args.x.ne[2], n_head * head_dim, [&](int64_t first, int64_t last) {
    for (int64_t token = first; token < last; ++token) {
      const float* cosines = args.angles.as<const float>() + token * 2 * n_pairs;
      float* head = args.x.as<float>() + token * n_head * head_dim;
      for (int64_t h = 0; h < n_head; ++h) rotate(head + h * head_dim, cosines, cosines + n_pairs, n_pairs);
    }
  });
}

}  // namespace

RotateHead* rotate_head_of([[maybe_unused]] Isa isa, RopeStyle style) {
  const bool is_halves = style == RopeStyle::halves;
#if PARLANCE_X86
  if (isa == Isa::avx2) return is_halves ? halves_avx2 : neighbours_avx2;
  if (is_avx512(isa)) return is_halves ? halves_avx512 : neighbours_avx512;
#endif
  return is_halves ? halves_scalar : neighbours_scalar;
}

void fill_rope(OpTable& table, [[maybe_unused]] Isa isa) {
  table.rope = {run_rope<halves_scalar, neighbours_scalar>};
#if PARLANCE_X86
  if (isa == Isa::avx2) table.rope = {run_rope<halves_avx2, neighbours_avx2>};
  if (is_avx512(isa)) table.rope = {run_rope<halves_avx512, neighbours_avx512>};
#endif
}

}  // namespace parlance
