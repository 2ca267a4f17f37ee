#include "kernels/cpu/cpu_device.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/os/environment.h"
#include "base/os/memory.h"
#include "base/os/thread.h"
#include "base/units.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/imported_weights.h"
#include "kernels/cpu/kernels.h"

namespace parlance {

namespace {

constexpr int kMaxThreads = 1024;
constexpr std::string_view kDescription = "the processors of this machine";
constexpr size_t kHugePage = size_t{2} << 20;
// From here on memory comes in huge pages from the system, below it from the heap.
constexpr size_t kLargeBytes = kHugePage;
constexpr size_t kSmallAlignment = 4096;

class HeapBuffer final : public Buffer {
 public:
  HeapBuffer(std::byte* base, size_t size) : Buffer(base, size) {}
  ~HeapBuffer() override { ::operator delete (base(), std::align_val_t{kSmallAlignment}); }
};

class MappedBuffer final : public Buffer {
 public:
  MappedBuffer(OwnPages pages, size_t size) : Buffer(pages.bytes().data(), size), pages_(std::move(pages)) {}

 private:
  OwnPages pages_;
};

DeviceMemory host_memory() {
  const MachineMemory memory = machine_memory();
  return {.total = memory.total, .free = memory.unused};
}

tl::unexpected<Error> out_of_memory(size_t bytes) {
  return fail(
      ErrorCode::out_of_memory,
      "cpu: cannot allocate {} bytes ({:.2f} GiB), this machine has {:.2f} GiB; use a smaller context, batch "
      "or model",
      bytes, gib(bytes), gib(host_memory().total));
}

Result<std::unique_ptr<Buffer>> allocate_small(size_t bytes) {
  void* base = ::operator new (bytes, std::align_val_t{kSmallAlignment}, std::nothrow);
  if (!base) return out_of_memory(bytes);
  return std::make_unique<HeapBuffer>(static_cast<std::byte*>(base), bytes);
}

// Aligned to huge pages: a cache read end to end through small ones costs up to a third of the bandwidth.
Result<std::unique_ptr<Buffer>> allocate_large(size_t bytes) {
  // The system would promise more than it has and end the process when the promise is called in.
  const size_t total = host_memory().total;
  if (total != 0 && bytes > total) return out_of_memory(bytes);
  std::optional<OwnPages> pages = OwnPages::map(bytes, kHugePage);
  if (!pages) return out_of_memory(bytes);
  return std::make_unique<MappedBuffer>(*std::move(pages), bytes);
}

class CpuDevice final : public Device {
 public:
  CpuDevice(std::shared_ptr<Processors> processors, Isa isa, bool deterministic, int rank)
      : processors_(std::move(processors)), isa_(isa), deterministic_(deterministic), rank_(rank) {}

  std::unique_ptr<Device> share(int rank) const {
    return std::make_unique<CpuDevice>(processors_, isa_, deterministic_, rank);
  }

  std::string_view name() const override { return "cpu"; }
  std::string_view description() const override { return kDescription; }
  DeviceMemory memory() const override { return host_memory(); }
  const OpTable& ops() const override { return ops_; }
  int64_t most_alike_rows(DType weights) const override {
    return parlance::most_alike_rows(isa_, deterministic_, weights);
  }
  int n_threads() const override { return processors_->n_threads(); }

  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
    return bytes < kLargeBytes ? allocate_small(bytes) : allocate_large(bytes);
  }

  Result<std::unique_ptr<Buffer>> import_weights(std::span<const std::byte> bytes) override {
    // Kernels read scalars of up to four bytes in place; a file with an unusual alignment gets a copy that
    // allows it.
    if (reinterpret_cast<uintptr_t>(bytes.data()) % 4 == 0) return std::make_unique<ImportedWeights>(bytes);
    PARLANCE_TRY(auto copy, allocate(bytes.size()));
    if (!bytes.empty()) std::memcpy(copy->base(), bytes.data(), bytes.size());
    return copy;
  }

  std::optional<OwnCopy> copy_for_products(const Tensor& weight) override {
    auto* const imported = dynamic_cast<ImportedWeights*>(weight.buffer);
    if (!imported || imported->packed() || !reads_packed(isa_, weight.dtype)) return std::nullopt;
    if (weight.n_rows() < kStripRows) return std::nullopt;  // most of a strip would be nothing
    const auto packed = std::make_shared<PackedWeight>(weight);
    imported->expect(packed);
    // Nobody needs the copy when the weight has gone.
    const auto make = [kept = std::weak_ptr(packed)](std::span<std::byte> memory,
                                                     std::shared_ptr<const OwnPages> allocation,
                                                     const std::atomic<bool>& stop) {
      if (const auto wanted = kept.lock()) wanted->make(memory, std::move(allocation), stop);
    };
    return OwnCopy{.bytes = {weight.data, weight.size()}, .n_bytes = packed->n_bytes(), .make = make};
  }

  std::unique_ptr<Stream> make_stream() override {
    return std::make_unique<CpuStream>(*this, *processors_, rank_);
  }

 private:
  std::shared_ptr<Processors> processors_;
  const Isa isa_;
  const bool deterministic_;
  const OpTable& ops_ = cpu_op_table(isa_, deterministic_);
  const int rank_;
};

// The set called `name`, which `origin` (an option, a variable) asked for.
Result<Isa> find_isa(std::string_view name, std::string_view origin) {
  std::string choices;
  for (const Isa isa : available_isas()) {
    if (name_of(isa) == name) return isa;
    choices += choices.empty() ? "" : ", ";
    choices += name_of(isa);
  }
  return fail(ErrorCode::invalid_argument, "{}: no instruction set '{}' on this processor; choose one of {}",
              origin, name, choices);
}

}  // namespace

Result<Isa> choose_isa(std::string_view wanted) {
  if (!wanted.empty()) return find_isa(wanted, "cpu");
  if (const auto variable = environment("PARLANCE_ISA")) {
    return find_isa(*variable, "environment variable PARLANCE_ISA");
  }
  return available_isas().back();
}

std::vector<DeviceInfo> list_cpu_devices() {
  return {{.name = "cpu", .description = std::string(kDescription), .memory = host_memory()}};
}

Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options) {
  PARLANCE_TRY(const Isa isa, choose_isa(options.isa));
  if (options.n_threads < 0 || options.n_threads > kMaxThreads) {
    return fail(ErrorCode::invalid_argument, "cpu: {} threads; give 1 to {}, or 0 for one per processor",
                options.n_threads, kMaxThreads);
  }
  const int n_threads =
      options.n_threads > 0 ? options.n_threads : static_cast<int>(usable_processors().size());
  auto device = std::make_unique<CpuDevice>(std::make_shared<Processors>(n_threads, options.pin_threads), isa,
                                            options.deterministic, /*rank=*/0);
  if (device->n_threads() < n_threads) {
    return fail(ErrorCode::unsupported, "cpu: the system started {} of {} threads; ask for fewer threads",
                device->n_threads(), n_threads);
  }
  return device;
}

std::unique_ptr<Device> share_cpu_device(const Device& device, int rank) {
  assert(rank >= 0 && rank < RightOfWay::kRanks);
  const auto* cpu = dynamic_cast<const CpuDevice*>(&device);
  return cpu ? cpu->share(rank) : nullptr;
}

void CpuStream::take_memory(std::span<const std::span<std::byte>> stretches) {
  if (stretches.empty()) return;
  constexpr size_t kSmallestPage = 4096;  // of any system: it gives that much, or more, at once
  step(kOnce, [&] {
    pool().run(std::ssize(stretches), [&](int64_t i, int) {
      const std::span<std::byte> bytes = stretches[static_cast<size_t>(i)];
      // A write that changes nothing, whoever else may write there. Of another atomic one, compilers may make
      // a load.
      for (size_t at = 0; at < bytes.size(); at += kSmallestPage)
        __atomic_fetch_or(reinterpret_cast<volatile uint8_t*>(&bytes[at]), uint8_t{0}, __ATOMIC_RELAXED);
    });
  });
}

void CpuStream::on_host(int64_t n_tasks, FunctionRef<void(int64_t task)> task) {
  run_step(kOnce, [&] { pool().run(n_tasks, [&](int64_t i, int) { task(i); }); });
}

void CpuStream::upload(const Tensor& dst, std::span<const std::byte> bytes) {
  assert(dst.size() == bytes.size());
  if (!bytes.empty()) std::memcpy(dst.data, bytes.data(), bytes.size());
}

Result<void> CpuStream::download(std::span<std::byte> bytes, const Tensor& src) {
  assert(src.size() == bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), src.data, bytes.size());
  return {};
}

void CpuStream::copy(const Tensor& dst, const Tensor& src) {
  assert(dst.size() == src.size());
  if (dst.size() > 0) std::memmove(dst.data, src.data, dst.size());
}

}  // namespace parlance
