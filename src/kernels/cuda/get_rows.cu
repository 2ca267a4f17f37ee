// get_rows on CUDA: blocks are decoded run by run, a thread for each; floats one by one.
#include <algorithm>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

constexpr int64_t kThreads = 128;
constexpr int64_t kMaxGridY = 65535;

struct Rows {
  const uint8_t* table;
  int64_t row_bytes;
  const int32_t* rows;
  float* out;  // [n, gridDim.x]
  int64_t n;
};

// Row blockIdx.x; the blocks along y share its runs. Products and sums are rounded one by one, as in the
// definition.
template <class Type>
__global__ void decode_rows(const Rows p) {
  let_next_start();
  wait_for_previous();
  const uint8_t* row = p.table + p.rows[blockIdx.x] * p.row_bytes;
  float* out = p.out + blockIdx.x * p.n;
  const int64_t stride = static_cast<int64_t>(gridDim.y) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x; i < p.n / kRunValues;
       i += stride) {
    Run run;
    Type::unpack(row + i / Type::kBlockRuns * Type::kBlockBytes, static_cast<int>(i % Type::kBlockRuns), run);
    auto* values = reinterpret_cast<float4*>(out + i * kRunValues);
#pragma unroll
    for (int word = 0; word < 8; ++word) {
      const int half = Type::kHalves ? word / 4 : 0;
      float value[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const auto code = static_cast<int8_t>(run.codes[word] >> (8 * j));
        value[j] = __fmul_rn(run.step[half], static_cast<float>(code));
        if constexpr (Type::kHasMinimum) value[j] = __fadd_rn(value[j], run.minimum[half]);
      }
      values[word] = make_float4(value[0], value[1], value[2], value[3]);
    }
  }
}

template <class Type>
__global__ void convert_rows(const Rows p) {
  let_next_start();
  wait_for_previous();
  const uint8_t* row = p.table + p.rows[blockIdx.x] * p.row_bytes;
  float* out = p.out + blockIdx.x * p.n;
  const int64_t stride = static_cast<int64_t>(gridDim.y) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x; i < p.n; i += stride) {
    out[i] = Type::load(row + i * Type::kBytes);
  }
}

void run_get_rows(Stream& stream, const GetRowsArgs& args) {
  const int64_t n = args.table.ne[0];
  const int64_t n_rows = args.rows.n_elements();
  if (n == 0 || n_rows == 0) return;
  const Rows rows{args.table.as<const uint8_t>(), static_cast<int64_t>(args.table.row_size()),
                  args.rows.as<const int32_t>(), args.out.as<float>(), n};
  const auto launch_for = [&](void (*kernel)(Rows), int64_t n_pieces) {
    const int64_t n_blocks = std::min((n_pieces + kThreads - 1) / kThreads, kMaxGridY);
    launch(stream, kernel,
           {.grid = dim3(static_cast<unsigned>(n_rows), static_cast<unsigned>(n_blocks)),
            .block = dim3(kThreads)},
           rows);
  };
  visit_block_type(args.table.dtype,
                   [&](auto type) { launch_for(decode_rows<decltype(type)>, n / kRunValues); });
  visit_float_type(args.table.dtype, [&](auto type) { launch_for(convert_rows<decltype(type)>, n); });
}

}  // namespace

void fill_get_rows(OpTable& table) {
  for (const DType dtype : kBlockTypes) table.get_rows[static_cast<size_t>(dtype)] = {run_get_rows};
  for (const DType dtype : kFloatTypes) table.get_rows[static_cast<size_t>(dtype)] = {run_get_rows};
}

}  // namespace parlance::cuda
