#include "kernels/cuda/cuda_device.h"

#include "base/checked.h"
#include "base/parameter.h"
#include "base/units.h"
#include "kernels/cuda/between_attentions.h"
#include "kernels/cuda/block_step.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/matmul/half_few.h"
#include "kernels/cuda/matmul/half_many.h"
#include "kernels/cuda/matmul/kept_weights.h"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/matmul/quantised_few.h"
#include "kernels/cuda/matmul/quantised_row.h"
#include "kernels/cuda/matmul/wide_gemm.h"
#include "kernels/cuda/runtime/cuda_stream.h"
#include "kernels/cuda/runtime/memory.h"
#include "kernels/cuda/runtime/weight_upload.h"
#include "kernels/cuda/sum_rows.h"
#include "kernels/large_batches.h"
#include "kernels/widens_weights.h"

namespace parlance {

namespace cuda {
namespace {

constexpr int kLeastCapability = 80;  // what the kernels are compiled for at least

std::string name_of(int index) {
  return fmt::format("cuda:{}", index);
}

// "13.0" of 13000.
std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// Why the runtime finds no GPU, and what to do.
tl::unexpected<Error> no_devices(cudaError_t code) {
  cudaGetLastError();
  const std::string others = fmt::format("or use {} or vulkan", set_to(Parameter::device, "cpu"));
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (code == cudaSuccess || code == cudaErrorNoDevice) {
    return fail(ErrorCode::not_found,
                "cuda: the driver sees no NVIDIA GPU; see that nvidia-smi lists one and CUDA_VISIBLE_DEVICES "
                "does not "
                "hide it, {}",
                others);
  }
  if (driver == 0) {
    return fail(ErrorCode::not_found, "cuda: no NVIDIA driver on this machine; install one for CUDA {}, {}",
                version_text(runtime), others);
  }
  if (code == cudaErrorInsufficientDriver) {
    return fail(ErrorCode::unsupported,
                "cuda: the NVIDIA driver is for CUDA {}, this program needs {}; update it, {}",
                version_text(driver), version_text(runtime), others);
  }
  return fail(ErrorCode::device_failed,
              "cuda: the NVIDIA driver does not start: {}; see what nvidia-smi says, {}",
              cudaGetErrorString(code), others);
}

Result<int> count_devices() {
  int n = 0;
  const cudaError_t code = cudaGetDeviceCount(&n);
  if (code != cudaSuccess || n == 0) return no_devices(code);
  return n;
}

// Starts the driver's work on the GPU when it is the first call for it. Zeros when the GPU does not answer.
DeviceMemory memory_of(int index) {
  DeviceMemory memory;
  if (cudaSetDevice(index) != cudaSuccess || cudaMemGetInfo(&memory.free, &memory.total) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  return memory;
}

class CudaDevice final : public Device,
                         public FusesRows,
                         public TakesLargeBatches,
                         public WidensWeights,
                         public FusesMlps,
                         public DecidesBlocks,
                         public SumsRows,
                         public JoinsLayers {
 public:
  CudaDevice(int index, const cudaDeviceProp& properties, const DeviceOptions& options)
      : index_(index),
        name_(cuda::name_of(index)),
        description_(properties.name),
        gpu_{.n_multiprocessors = properties.multiProcessorCount,
             .compute_capability = properties.major * 10 + properties.minor,
             .shared_bytes_per_block = properties.sharedMemPerBlockOptin,
             .l2_bytes = static_cast<size_t>(properties.l2CacheSize),
             .is_deterministic = options.is_deterministic},
        weight_upload_(index, name_) {}

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return description_; }
  DeviceMemory memory() const override { return memory_of(index_); }
  const OpTable& ops() const override { return op_table(); }
  // Two have quantised_gemv, which ends in what it yields.
  bool fuses_rows(int64_t n_rows, std::optional<DType> weights) const override {
    const bool are_floats = weights && traits(*weights).block_elements == 1;
    const bool are_some = are_floats
                              ? n_rows <= kMostFewTokens || half_many_serves(gpu_.compute_capability, n_rows)
                              : n_rows <= kMostQuantisedTokens;
    const bool are_few = n_rows == 1 || (n_rows >= kFewestQuantisedTokens && are_some);
    const bool are_many = n_rows > kMostAlikeTokens && !gpu_.is_deterministic;
    return (are_few && has_row_kernels(gpu_.compute_capability)) ||
           (are_many && has_wide_kernels(gpu_.compute_capability));
  }
  const Cell<FusedMatmulArgs>& fused_matmul(DType weights) const override {
    return cuda::fused_matmul(weights);
  }
  const Cell<FusedMlpArgs>* fused_mlp(const FusedMlpArgs& args) const override {
    return cuda::fused_mlp(gpu_, args);
  }
  const Cell<FusedAttentionArgs>& fused_attention() const override { return cuda::fused_attention(); }
  const Cell<BetweenAttentionsArgs>* between_attentions(const BetweenAttentionsArgs& args) const override {
    return cuda::between_attentions(gpu_, args);
  }
  const Cell<BlockStepArgs>& block_step() const override { return cuda::block_step(); }
  const Cell<SumRowsArgs>& sum_rows(DType table) const override { return cuda::sum_rows(table); }
  int64_t most_alike_rows(DType /*weights*/) const override {
    return gpu_.is_deterministic ? INT64_MAX : kMostAlikeTokens;
  }
  // On an H200, an 8B model takes 2,048 tokens of a prompt a sixth faster at once than in four batches.
  int64_t best_batch() const override {
    return has_wide_kernels(gpu_.compute_capability) && !gpu_.is_deterministic ? 2048 : 0;
  }

  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
    cudaSetDevice(index_);
    void* base = nullptr;
    // Kernels load whole pieces of 16 bytes, the last one reaching beyond a tensor that ends in the middle of
    // it. No address is null, which would mean "absent".
    constexpr size_t kPiece = 16;
    const size_t padded = checked_align_up(std::max<size_t>(bytes, 1), kPiece).value_or(SIZE_MAX);
    cudaError_t code = cudaMalloc(&base, padded);
    if (code == cudaSuccess) {
      auto buffer = std::make_unique<CudaBuffer>(index_, static_cast<std::byte*>(base), bytes);
      if (padded > bytes) code = cudaMemset(buffer->base() + bytes, 0, padded - bytes);
      if (code == cudaSuccess) return buffer;
    }
    cudaGetLastError();
    if (code != cudaErrorMemoryAllocation) {
      return tl::unexpected(device_error(name_, "allocating memory", code));
    }
    const DeviceMemory has = memory();
    return fail(
        ErrorCode::out_of_memory,
        "{}: cannot allocate {} bytes ({:.2f} GiB), {:.2f} of {:.2f} GiB are free; use a smaller context or "
        "model, or keep layers on the processor with {}",
        name_, bytes, gib(bytes), gib(has.free), gib(has.total), Parameter::gpu_layers);
  }

  Result<std::unique_ptr<Buffer>> import_weights(std::span<const std::byte> bytes) override {
    PARLANCE_TRY(auto buffer, allocate(bytes.size()));
    PARLANCE_CHECK(weight_upload_.copy(buffer->base(), bytes));
    return buffer;
  }

  size_t widened_bytes(const Tensor& weight) const override { return kept_bytes(gpu_, weight); }

  Result<void> widen(const Tensor& weight) override {
    PARLANCE_TRY(auto copy, allocate(kept_bytes(gpu_, weight)));
    const cudaError_t code = make_kept(weight, copy->base());
    if (code != cudaSuccess) return tl::unexpected(device_error(name_, "widening weights", code));
    static_cast<CudaBuffer&>(*weight.buffer).keep(std::move(copy), weight.size());
    return {};
  }

  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CudaStream>(*this, index_, gpu_); }

 private:
  int index_;
  std::string name_;
  std::string description_;
  Gpu gpu_;
  WeightUpload weight_upload_;
};

}  // namespace

const std::byte* kept_copy_of(const Tensor& weight) {
  const auto* const buffer = static_cast<const CudaBuffer*>(weight.buffer);
  const bool is_of_all = buffer && buffer->kept() && weight.data == buffer->base() &&
                         weight.size() == buffer->kept_weight_bytes();
  return is_of_all ? buffer->kept()->base() : nullptr;
}

}  // namespace cuda

Result<std::vector<DeviceInfo>> list_cuda_devices() {
  PARLANCE_TRY(const int n, cuda::count_devices());
  std::vector<DeviceInfo> list;
  for (int index = 0; index < n; ++index) {
    cudaDeviceProp properties;
    const cudaError_t code = cudaGetDeviceProperties(&properties, index);
    if (code != cudaSuccess) {
      return tl::unexpected(cuda::device_error(cuda::name_of(index), "asking for its properties", code));
    }
    list.push_back({cuda::name_of(index), properties.name, cuda::memory_of(index)});
  }
  return list;
}

Result<std::unique_ptr<Device>> make_cuda_device(int index, const DeviceOptions& options) {
  PARLANCE_TRY(const int n, cuda::count_devices());
  if (index < 0 || index >= n) {
    return fail(ErrorCode::not_found, "cuda:{}: there is no such GPU; this machine has cuda:0 to cuda:{}",
                index, n - 1);
  }
  cudaDeviceProp properties;
  const cudaError_t code = cudaGetDeviceProperties(&properties, index);
  if (code != cudaSuccess) {
    return tl::unexpected(cuda::device_error(cuda::name_of(index), "asking for its properties", code));
  }
  if (properties.major * 10 + properties.minor < cuda::kLeastCapability) {
    return fail(ErrorCode::unsupported,
                "cuda:{}: {} has compute capability {}.{}, the kernels need {}.{} or newer; use {} or "
                "cpu",
                index, properties.name, properties.major, properties.minor, cuda::kLeastCapability / 10,
                cuda::kLeastCapability % 10, set_to(Parameter::device, "vulkan"));
  }
  if (const cudaError_t started = cudaSetDevice(index); started != cudaSuccess) {
    return tl::unexpected(cuda::device_error(cuda::name_of(index), "starting it", started));
  }
  return std::make_unique<cuda::CudaDevice>(index, properties, options);
}

}  // namespace parlance
