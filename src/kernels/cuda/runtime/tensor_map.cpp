#include "kernels/cuda/runtime/tensor_map.h"

#include <cuda_runtime.h>

#include <cassert>

namespace parlance::cuda {

namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

// Found at run time, so that programs run where there is no driver.
Encode encode() {
  static const Encode found = [] {
    constexpr unsigned kSince = 12000;
    void* address = nullptr;
    cudaDriverEntryPointQueryResult result{};
    const bool is_found = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, kSince,
                                                           cudaEnableDefault, &result) == cudaSuccess &&
                          result == cudaDriverEntryPointSuccess;
    cudaGetLastError();
    return is_found ? reinterpret_cast<Encode>(address) : nullptr;
  }();
  return found;
}

}  // namespace

bool has_tensor_maps() {
  return encode() != nullptr;
}

CUtensorMap tensor_map_of(const Boxes& boxes) {
  // Elements of two bytes: of a box, there may be 256 along a dimension.
  constexpr uint32_t kRank = 3, kElementBytes = 2;
  const auto elements = static_cast<uint32_t>(boxes.piece_bytes / kElementBytes);
  const uint64_t sizes[kRank] = {elements, boxes.n_rows, boxes.n_pieces};
  const uint64_t strides[kRank - 1] = {boxes.row_bytes, boxes.piece_bytes};
  const uint32_t box[kRank] = {elements, boxes.box_rows, boxes.box_pieces * boxes.piece_step};
  const uint32_t steps[kRank] = {1, 1, boxes.piece_step};
  CUtensorMap map{};
  [[maybe_unused]] const CUresult result =
      encode()(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, kRank, const_cast<void*>(boxes.data), sizes, strides,
               box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
               CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  assert(result == CUDA_SUCCESS);
  return map;
}

}  // namespace parlance::cuda
