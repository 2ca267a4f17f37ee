#include "kernels/cpu/matmul/amx/quantised.h"

#include <algorithm>

#include "kernels/cpu/matmul/cells.h"
#include "kernels/cpu/matmul/floats.h"

#ifdef PARLANCE_X86

namespace parlance::matmul {

namespace {

using namespace avx512;

struct Set : CommonSet {
  static constexpr int kTileTokens = amx::kTileTokens;
  static constexpr int8_t kCodeFlip = 0;

  // AVX-512's kernels for few tokens, and what unpacks; panels are multiplied by tiles.
  static QuantisedKernel kernel(DType dtype) {
    QuantisedKernel kernel = quantised_kernel(dtype);
    const bool is_half = kernel.multiply_panel == multiply_half_runs ||
                         kernel.multiply_panel == multiply_half_runs_with_offset;
    kernel.multiply_panel = amx_twin(kernel.multiply_panel);
    if (dtype == DType::q8_0) {
      kernel.unpack_strip = amx::unpack_strip_steps_q8_0;
      kernel.multiply_strip = amx::multiply_strip_q8_0;
    }
    kernel.begin_panels = is_half ? amx::configure_for_half_runs : amx::configure_for_runs;
    kernel.end_panels = amx::release;
    return kernel;
  }

 private:
  static MultiplyPanel* amx_twin(MultiplyPanel* multiply) {
    if (multiply == multiply_runs) return amx::multiply_runs;
    if (multiply == multiply_runs_with_offset) return amx::multiply_runs_with_offset;
    return multiply == multiply_half_runs ? amx::multiply_half_runs : amx::multiply_half_runs_with_offset;
  }
};

// What a model has of both kinds is alike as far as the first of them.
int64_t most_alike_rows(const MatmulArgs& args) {
  int64_t most = INT64_MAX;
  for (int i = 0; i < args.n_outputs; ++i)
    most = std::min(most, amx::most_alike_rows(args.w[static_cast<size_t>(i)].weight.dtype));
  return most;
}

}  // namespace

Cell<MatmulArgs> quantised_amx(bool deterministic) {
  static const Cell<MatmulArgs> cell = QuantisedMatmul<Set>::cell();
  if (deterministic) return cell;
  return {[](Stream& stream, const MatmulArgs& args) {
            if (args.x.n_rows() > most_alike_rows(args)) {
              run_float_panels(stream, args, kQuantisedAsFloatsAmx);
            } else {
              cell.run(stream, args);
            }
          },
          [](const MatmulArgs& args, int n_threads) {
            return std::max(cell.scratch(args, n_threads),
                            scratch_of_float_panels(args, n_threads, kQuantisedAsFloatsAmx));
          }};
}

}  // namespace parlance::matmul

#endif
