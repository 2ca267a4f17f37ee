#include "kernels/cuda/runtime/cuda_stream.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "kernels/cuda/runtime/launch_clusters.h"
#include "quant/sketch.h"

namespace parlance::cuda {

namespace {

constexpr size_t kSlotBytes = size_t{256} << 10;
constexpr size_t kDownloadBytes = size_t{1} << 20;
constexpr size_t kLandingWordsAt = 128;  // apart from the number, which the host looks at
constexpr size_t kLandingBytes = kLandingWordsAt + Stream::kMostLater;

bool is_word(const std::byte* at) {
  return reinterpret_cast<uintptr_t>(at) % 4 == 0;
}

cudaLaunchAttribute cluster_of(unsigned n_blocks) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {.x = n_blocks, .y = 1, .z = 1};
  return attribute;
}

}  // namespace

CudaStream::CudaStream(Device& device, int index, const Gpu& gpu) : Stream(device), index_(index), gpu_(gpu) {
  if (auto ready = prepare(); !ready) error_ = std::move(ready).error();
}

CudaStream::~CudaStream() {
  cudaSetDevice(index_);
  if (stream_) cudaStreamSynchronize(stream_);
  recordings_.clear();
  for (const Slot& slot : slots_) {
    if (slot.is_free) cudaEventDestroy(slot.is_free);
  }
  if (stream_) cudaStreamDestroy(stream_);
  counters_.reset();
  release_memory();
}

Result<void> CudaStream::prepare() {
  cudaSetDevice(index_);
  constexpr size_t kLandingsAt = kSlots * kSlotBytes;
  PARLANCE_TRY(staging_, PinnedMemory::allocate(device().name(),
                                                kLandingsAt + kLandings * kLandingBytes + kDownloadBytes));
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  PARLANCE_TRY(counters_, device().allocate(kCounters * sizeof(int)));
  check(cudaMemsetAsync(counters_->base(), 0, counters_->size(), stream_), "clearing memory");
  for (size_t i = 0; i < kSlots; ++i) {
    slots_[i].data = staging_.data() + i * kSlotBytes;
    check(cudaEventCreateWithFlags(&slots_[i].is_free, cudaEventDisableTiming), "making an event");
  }
  for (size_t i = 0; i < kLandings; ++i) {
    std::byte* const at = staging_.data() + kLandingsAt + i * kLandingBytes;
    landings_[i] = {.number = reinterpret_cast<uint32_t*>(at), .words = at + kLandingWordsAt};
    *landings_[i].number = 0;
  }
  return outcome();
}

bool CudaStream::begin() {
  return !error_ && check(cudaSetDevice(index_), "selecting the GPU");
}

bool CudaStream::check(cudaError_t code, std::string_view doing) {
  if (code == cudaSuccess) return true;
  cudaGetLastError();
  if (!error_) error_ = device_error(device().name(), doing, code);
  return false;
}

Result<void> CudaStream::outcome() const {
  if (error_) return tl::unexpected(*error_);
  return {};
}

void CudaStream::upload(const Tensor& dst, std::span<const std::byte> bytes) {
  assert(dst.size() == bytes.size());
  if (bytes.empty() || !begin()) return;
  if (bytes.size() <= kMostWordBytes && bytes.size() % 4 == 0 && is_word(dst.data))
    return store_words(*this, dst.data, bytes);
  blocks_before_ = 0;
  for (size_t first = 0; first < bytes.size(); first += kSlotBytes) {
    const Slot& slot = slots_[next_slot_++ % kSlots];
    const auto part = bytes.subspan(first, std::min(kSlotBytes, bytes.size() - first));
    if (!check(cudaEventSynchronize(slot.is_free), "an upload")) return;
    std::memcpy(slot.data, part.data(), part.size());
    if (!check(cudaMemcpyAsync(dst.data + first, slot.data, part.size(), cudaMemcpyHostToDevice, stream_),
               "an upload") ||
        !check(cudaEventRecord(slot.is_free, stream_), "an upload")) {
      return;
    }
  }
}

Result<void> CudaStream::download(std::span<std::byte> bytes, const Tensor& src) {
  assert(src.size() == bytes.size());
  if (!begin()) return outcome();
  blocks_before_ = 0;
  std::byte* const staged = staging_.data() + kSlots * kSlotBytes + kLandings * kLandingBytes;
  for (size_t first = 0; first < bytes.size(); first += kDownloadBytes) {
    const auto part = bytes.subspan(first, std::min(kDownloadBytes, bytes.size() - first));
    if (!check(cudaMemcpyAsync(staged, src.data + first, part.size(), cudaMemcpyDeviceToHost, stream_),
               "a download") ||
        !check(cudaStreamSynchronize(stream_), "a step")) {
      return outcome();
    }
    std::memcpy(part.data(), staged, part.size());
  }
  return {};
}

void CudaStream::begin_download(const Tensor& src, const Tensor& second) {
  const size_t n_second = second ? second.size() : 0;
  assert(src.size() > 0 && src.size() + n_second <= kMostLater && (src.size() + n_second) % 4 == 0);
  assert(is_word(src.data) && is_word(second.data) && n_begun_ - n_ended_ < kLandings);
  const Landing& landing = landings_[n_begun_++ % kLandings];
  bring_words(*this, landing, n_begun_, {src.data, src.size()}, {second.data, n_second});
}

Result<void> CudaStream::end_download(std::span<std::byte> bytes) {
  const Landing& landing = landings_[n_ended_++ % kLandings];
  if (begin()) wait_for_landing(landing, n_ended_);
  if (!error_) std::memcpy(bytes.data(), landing.words, bytes.size());
  return outcome();
}

// A number in memory is seen sooner than an event, which other commands of the stream would wait for besides.
void CudaStream::wait_for_landing(const Landing& landing, uint32_t number) {
  constexpr int kLooks = 1 << 14;  // before it is asked whether the GPU has failed
  const std::atomic_ref<uint32_t> landed(*landing.number);
  for (int n = 0; landed.load(std::memory_order_acquire) != number; n = (n + 1) % kLooks) {
    if (n + 1 < kLooks) continue;
    const cudaError_t code = cudaStreamQuery(stream_);
    if (code == cudaErrorNotReady) {
      std::this_thread::yield();
    } else if (landed.load(std::memory_order_acquire) != number) {
      check(code == cudaSuccess ? cudaErrorUnknown : code, "a step");
      return;
    }
  }
}

void CudaStream::copy(const Tensor& dst, const Tensor& src) {
  assert(dst.size() == src.size());
  if (dst.size() == 0 || !begin()) return;
  blocks_before_ = 0;
  check(cudaMemcpyAsync(dst.data, src.data, dst.size(), cudaMemcpyDeviceToDevice, stream_), "a copy");
}

Result<void> CudaStream::synchronize() {
  if (begin()) check(cudaStreamSynchronize(stream_), "a step");
  return outcome();
}

bool CudaStream::make_room(const void* kernel, size_t shared_bytes) {
  if (shared_bytes == 0 || raised_limits_.contains(kernel)) return true;
  // The limit is the kernel's, on all streams, some of which may need more than this one: it gets all there
  // is.
  constexpr std::string_view kDoing = "giving a kernel shared memory";
  cudaFuncAttributes attributes = {};
  if (!check(cudaFuncGetAttributes(&attributes, kernel), kDoing)) return false;
  const size_t most = gpu_.shared_bytes_per_block - attributes.sharedSizeBytes;
  if (!check(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most)),
          kDoing)) {
    return false;
  }
  raised_limits_.insert(kernel);
  return true;
}

void CudaStream::launch(const void* kernel, const Shape& shape, unsigned cluster_blocks, void** params) {
  if (!begin() || !make_room(kernel, shape.shared_bytes)) return;
  std::array<cudaLaunchAttribute, 3> attributes;
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream_;
  config.attrs = attributes.data();
  if (blocks_before_ > 0 && gpu_.compute_capability >= 90) {
    cudaLaunchAttribute& early_start = attributes[config.numAttrs++];
    early_start.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early_start.val.programmaticStreamSerializationAllowed = 1;
  }
  if (shape.takes_most_shared) {
    cudaLaunchAttribute& most_shared = attributes[config.numAttrs++];
    most_shared.id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    most_shared.val.sharedMemCarveout = cudaSharedmemCarveoutMaxShared;
  }
  if (cluster_blocks > 1) attributes[config.numAttrs++] = cluster_of(cluster_blocks);
  check(cudaLaunchKernelExC(&config, kernel, params), "starting a kernel");
  blocks_before_ = int64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
}

int CudaStream::clusters_at_once(const void* kernel, const Shape& shape, unsigned cluster_blocks) {
  const auto [known, is_new] = clusters_at_once_.try_emplace({kernel, shape.shared_bytes, cluster_blocks}, 0);
  if (!is_new || !begin() || !make_room(kernel, shape.shared_bytes)) return known->second;
  cudaLaunchAttribute cluster = cluster_of(cluster_blocks);
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  check(cudaOccupancyMaxActiveClusters(&known->second, kernel, &config), "asking for room for clusters");
  return known->second;
}

// Also while a step is recorded: what the recording needs is then there before it runs.
const float* CudaStream::sketch(Sketch which) {
  std::unique_ptr<Buffer>& buffer = sketches_[static_cast<size_t>(which)];
  if (buffer) return reinterpret_cast<const float*>(buffer->base());
  if (!begin()) return nullptr;
  const SketchMatrix& matrix = which == Sketch::projection ? sketch_projection()
                               : which == Sketch::unbiased ? sketch_unbiased()
                                                           : sketch_least_squares();
  auto made = device().allocate(sizeof matrix);
  if (!made) {
    if (!error_) error_ = made.error();
    return nullptr;
  }
  cudaStream_t beside = nullptr;  // the own one may be recording
  constexpr std::string_view kDoing = "copying a sketch's matrix";
  if (!check(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking), kDoing)) return nullptr;
  const bool is_copied =
      check(cudaMemcpyAsync((*made)->base(), matrix.data(), sizeof matrix, cudaMemcpyHostToDevice, beside),
            kDoing) &&
      check(cudaStreamSynchronize(beside), kDoing);
  cudaStreamDestroy(beside);
  if (!is_copied) return nullptr;
  buffer = std::move(*made);
  return reinterpret_cast<const float*>(buffer->base());
}

void CudaStream::run_step(uint64_t key, FunctionRef<void()> record) {
  if (!begin()) return;
  if (key == kOnce) {
    record();
    return;
  }
  cudaGraphExec_t graph = recordings_.find(key);
  if (!graph) {
    graph = record_graph(record);
    if (!graph) return;
    recordings_.add(key, graph);
  }
  check(cudaGraphLaunch(graph, stream_), "starting a step");
  blocks_before_ = 0;
}

// What `record` queues, as a graph; null when it failed or was cancelled, which leaves a part of the step
// out.
cudaGraphExec_t CudaStream::record_graph(FunctionRef<void()> record) {
  blocks_before_ = 0;
  if (!check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "recording a step"))
    return nullptr;
  record();
  cudaGraph_t recorded = nullptr;
  check(cudaStreamEndCapture(stream_, &recorded), "recording a step");
  cudaGraphExec_t graph = nullptr;
  if (!error_ && !cancelled()) check(cudaGraphInstantiate(&graph, recorded, 0), "preparing a step");
  if (recorded) cudaGraphDestroy(recorded);
  return error_ ? nullptr : graph;
}

void CudaStream::forget_recordings() {
  if (begin()) check(cudaStreamSynchronize(stream_), "a step");
  recordings_.clear();
}

cudaStream_t stream_of(Stream& s) {
  return static_cast<CudaStream&>(s).handle();
}
std::byte* scratch_of(Stream& s) {
  return s.scratch().data();
}
int* counters_of(Stream& s) {
  return static_cast<CudaStream&>(s).counters();
}
const float* sketch_of(Stream& s, Sketch which) {
  return static_cast<CudaStream&>(s).sketch(which);
}
const Gpu& gpu_of(Stream& s) {
  return static_cast<CudaStream&>(s).gpu();
}
int64_t blocks_before(Stream& s) {
  return static_cast<CudaStream&>(s).blocks_before();
}

void launch_kernel(Stream& s, const void* kernel, const Shape& shape, void** params) {
  static_cast<CudaStream&>(s).launch(kernel, shape, 1, params);
}
void launch_kernel_in_clusters(Stream& s, const void* kernel, const Shape& shape, unsigned cluster_blocks,
                               void** params) {
  static_cast<CudaStream&>(s).launch(kernel, shape, cluster_blocks, params);
}
int clusters_at_once(Stream& s, const void* kernel, const Shape& shape, unsigned cluster_blocks) {
  return static_cast<CudaStream&>(s).clusters_at_once(kernel, shape, cluster_blocks);
}

}  // namespace parlance::cuda
