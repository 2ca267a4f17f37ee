// A queue of kernels and copies on one GPU. Steps are recorded as graphs and replayed.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_set>

#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/memory.h"
#include "kernels/cuda/runtime/recordings.h"
#include "kernels/cuda/runtime/sketches.h"
#include "kernels/cuda/runtime/words.h"
#include "kernels/device.h"

namespace parlance::cuda {

class CudaStream final : public Stream {
 public:
  CudaStream(Device& device, int index, const Gpu& gpu);
  ~CudaStream() override;

  void upload(const Tensor& dst, std::span<const std::byte> bytes) override;
  Result<void> download(std::span<std::byte> bytes, const Tensor& src) override;
  void begin_download(const Tensor& src, const Tensor& second) override;
  Result<void> end_download(std::span<std::byte> bytes) override;
  void copy(const Tensor& dst, const Tensor& src) override;
  Result<void> synchronize() override;

  cudaStream_t handle() const { return stream_; }
  const Gpu& gpu() const { return gpu_; }
  int64_t blocks_before() const { return blocks_before_; }
  int* counters() const { return counters_ ? reinterpret_cast<int*>(counters_->base()) : nullptr; }
  void launch(const void* kernel, const Shape& shape, unsigned cluster_blocks, void** params);
  int clusters_at_once(const void* kernel, const Shape& shape, unsigned cluster_blocks);
  const float* sketch(Sketch which);
  bool keeps_recordings() const override { return true; }

 protected:
  void run_step(uint64_t key, FunctionRef<void()> record) override;
  void forget_recordings() override;

 private:
  // Uploads of more than a few words go through a ring of page-locked slots, since their source may vanish
  // before the GPU reads it.
  struct Slot {
    std::byte* data = nullptr;
    cudaEvent_t is_free = nullptr;
  };
  static constexpr size_t kSlots = 8;
  static constexpr uint32_t kLandings = 4;  // of downloads that were begun and not ended

  Result<void> prepare();
  // Makes the GPU current for this thread; false when the stream has failed.
  bool begin();
  // Keeps the first error; true when there is none.
  bool check(cudaError_t code, std::string_view doing);
  Result<void> outcome() const;
  void wait_for_landing(const Landing& landing, uint32_t number);
  cudaGraphExec_t record_graph(FunctionRef<void()> record);
  // Lets a kernel have the shared memory that it asks for.
  bool make_room(const void* kernel, size_t shared_bytes);

  int index_;
  const Gpu& gpu_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<Buffer> counters_;
  PinnedMemory staging_;  // the slots, then the landings, then the bytes of a download
  std::array<Slot, kSlots> slots_;
  size_t next_slot_ = 0;
  std::array<Landing, kLandings> landings_;
  uint32_t n_begun_ = 0, n_ended_ = 0;
  Recordings recordings_;
  std::unordered_set<const void*> raised_limits_;                              // of shared memory, by kernel
  std::map<std::tuple<const void*, size_t, unsigned>, int> clusters_at_once_;  // by kernel, memory, blocks
  std::array<std::unique_ptr<Buffer>, 3> sketches_;  // by Sketch, made when first used
  int64_t blocks_before_ = 0;  // of the kernel that was queued last; 0: what was is none
  std::optional<Error> error_;
};

}  // namespace parlance::cuda
