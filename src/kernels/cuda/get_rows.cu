// get_rows and sum_rows on CUDA: blocks are decoded run by run, a thread for each; floats one by one.
#include <algorithm>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/sum_rows.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

constexpr int64_t kThreads = 128;
constexpr int64_t kMaxGridY = 65535;

struct Rows {
  const uint8_t* table;
  int64_t row_bytes;
  const int32_t* rows;  // [gridDim.x, n_summands]
  float* out;           // [n, gridDim.x]
  int64_t n;
  int n_summands;

  __device__ const uint8_t* row(int summand) const {
    return table + rows[static_cast<int64_t>(summand) * gridDim.x + blockIdx.x] * row_bytes;
  }
};

// Row blockIdx.x; the blocks along y share its runs. Products and sums are rounded one by one, as in the
// definition.
template <class Type>
__global__ void decode_rows(const Rows p) {
  let_next_start();
  wait_for_previous();
  float* out = p.out + blockIdx.x * p.n;
  const int64_t stride = static_cast<int64_t>(gridDim.y) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x; i < p.n / kRunValues;
       i += stride) {
    float sums[kRunValues];
#pragma unroll 4
    for (int summand = 0; summand < p.n_summands; ++summand) {
      Run run;
      Type::unpack(p.row(summand) + i / Type::kBlockRuns * Type::kBlockBytes,
                   static_cast<int>(i % Type::kBlockRuns), run);
#pragma unroll
      for (int word = 0; word < 8; ++word) {
        const int half = Type::kHalves ? word / 4 : 0;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const auto code = static_cast<int8_t>(run.codes[word] >> (8 * j));
          float value = __fmul_rn(run.step[half], static_cast<float>(code));
          if constexpr (Type::kHasMinimum) value = __fadd_rn(value, run.minimum[half]);
          float& sum = sums[4 * word + j];
          sum = summand == 0 ? value : __fadd_rn(sum, value);
        }
      }
    }
    auto* values = reinterpret_cast<float4*>(out + i * kRunValues);
#pragma unroll
    for (int word = 0; word < 8; ++word)
      values[word] = make_float4(sums[4 * word], sums[4 * word + 1], sums[4 * word + 2], sums[4 * word + 3]);
  }
}

template <class Type>
__global__ void convert_rows(const Rows p) {
  let_next_start();
  wait_for_previous();
  float* out = p.out + blockIdx.x * p.n;
  const int64_t stride = static_cast<int64_t>(gridDim.y) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x; i < p.n; i += stride) {
    float sum = Type::load(p.row(0) + i * Type::kBytes);
    for (int summand = 1; summand < p.n_summands; ++summand)
      sum = __fadd_rn(sum, Type::load(p.row(summand) + i * Type::kBytes));
    out[i] = sum;
  }
}

void run(Stream& stream, DType dtype, const Rows& rows, int64_t n_rows) {
  if (rows.n == 0 || n_rows == 0) return;
  const auto launch_for = [&](void (*kernel)(Rows), int64_t n_pieces) {
    const int64_t n_blocks = std::min((n_pieces + kThreads - 1) / kThreads, kMaxGridY);
    launch(stream, kernel,
           {.grid = dim3(static_cast<unsigned>(n_rows), static_cast<unsigned>(n_blocks)),
            .block = dim3(kThreads)},
           rows);
  };
  visit_block_type(dtype, [&](auto type) { launch_for(decode_rows<decltype(type)>, rows.n / kRunValues); });
  visit_float_type(dtype, [&](auto type) { launch_for(convert_rows<decltype(type)>, rows.n); });
}

void run_get_rows(Stream& stream, const GetRowsArgs& args) {
  const Rows rows{args.table.as<const uint8_t>(),
                  static_cast<int64_t>(args.table.row_size()),
                  args.rows.as<const int32_t>(),
                  args.out.as<float>(),
                  args.table.ne[0],
                  1};
  run(stream, args.table.dtype, rows, args.rows.n_elements());
}

void run_sum_rows(Stream& stream, const SumRowsArgs& args) {
  const Rows rows{args.table.as<const uint8_t>(),
                  static_cast<int64_t>(args.table.row_size()),
                  args.rows.as<const int32_t>(),
                  args.out.as<float>(),
                  args.table.ne[0],
                  static_cast<int>(args.rows.ne[1])};
  run(stream, args.table.dtype, rows, args.rows.ne[0]);
}

}  // namespace

void fill_get_rows(OpTable& table) {
  for (const DType dtype : kBlockTypes) table.get_rows[static_cast<size_t>(dtype)] = {run_get_rows};
  for (const DType dtype : kFloatTypes) table.get_rows[static_cast<size_t>(dtype)] = {run_get_rows};
}

const Cell<SumRowsArgs>& sum_rows(DType table) {
  static constexpr Cell<SumRowsArgs> kNone, kCell{run_sum_rows};
  const auto is_among = [&](const auto& types) { return std::ranges::count(types, table) > 0; };
  return is_among(kBlockTypes) || is_among(kFloatTypes) ? kCell : kNone;
}

}  // namespace parlance::cuda
