#include "kernels/cuda/runtime/weight_upload.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/os/thread.h"

namespace parlance::cuda {

namespace {

constexpr size_t kStageBytes = size_t{16} << 20;
constexpr size_t kPieceBytes = size_t{1} << 20;  // that one thread copies at a time
// The file's pages are what limits the speed: one thread copies and faults them in at a few GB/s.
constexpr size_t kMaxThreads = 8;

}  // namespace

WeightUpload::~WeightUpload() {
  cudaSetDevice(index_);
  for (Stage& stage : stages_) {
    if (stage.is_free) cudaEventDestroy(stage.is_free);
  }
  if (stream_) cudaStreamDestroy(stream_);
}

Result<void> WeightUpload::prepare() {
  if (is_prepared_) return {};
  for (Stage& stage : stages_) {
    if (!stage.memory.data()) {
      PARLANCE_TRY(stage.memory, PinnedMemory::allocate(device_, kStageBytes));
    }
    if (stage.is_free) continue;
    const cudaError_t code = cudaEventCreateWithFlags(&stage.is_free, cudaEventDisableTiming);
    if (code != cudaSuccess) return tl::unexpected(device_error(device_, "preparing to load weights", code));
  }
  const cudaError_t code = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
  if (code != cudaSuccess) return tl::unexpected(device_error(device_, "preparing to load weights", code));
  pool_.emplace(static_cast<int>(std::min(usable_processors().size(), kMaxThreads)), false);
  is_prepared_ = true;
  return {};
}

void WeightUpload::fill(std::byte* stage, std::span<const std::byte> bytes) {
  pool_->run(static_cast<int64_t>(div_up(bytes.size(), kPieceBytes)), [&](int64_t piece, int) {
    const size_t first = static_cast<size_t>(piece) * kPieceBytes;
    std::memcpy(stage + first, bytes.data() + first, std::min(kPieceBytes, bytes.size() - first));
  });
}

Result<void> WeightUpload::copy(std::byte* dst, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  cudaSetDevice(index_);
  PARLANCE_CHECK(prepare());
  cudaError_t code = cudaSuccess;
  for (size_t first = 0, i = 0; first < bytes.size() && code == cudaSuccess; first += kStageBytes, ++i) {
    Stage& stage = stages_[i % stages_.size()];
    const auto part = bytes.subspan(first, std::min(kStageBytes, bytes.size() - first));
    code = cudaEventSynchronize(stage.is_free);
    if (code != cudaSuccess) break;
    fill(stage.memory.data(), part);
    code = cudaMemcpyAsync(dst + first, stage.memory.data(), part.size(), cudaMemcpyHostToDevice, stream_);
    if (code == cudaSuccess) code = cudaEventRecord(stage.is_free, stream_);
  }
  if (code == cudaSuccess) code = cudaStreamSynchronize(stream_);
  if (code != cudaSuccess) return tl::unexpected(device_error(device_, "loading weights", code));
  return {};
}

}  // namespace parlance::cuda
