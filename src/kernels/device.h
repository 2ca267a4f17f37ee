// A device owns memory and runs operations; a stream is an ordered queue of operations on it with the
// workspace of one engine. The CPU runs an operation at once on its thread pool; a GPU launches or records
// it. Model code is the same for all: it calls the functions of ops.h on a stream.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "base/function_ref.h"
#include "base/os/huge_pages.h"
#include "base/result.h"
#include "kernels/op_table.h"
#include "tensor/arena.h"
#include "tensor/buffer.h"

namespace parlance {

class Stream;
class ThreadPool;

// Bytes of a device's memory; `free` is what this process may still allocate, as far as the driver tells.
struct DeviceMemory {
  size_t total = 0;
  size_t free = 0;
};

// A device that this machine offers, before anything is allocated on it.
struct DeviceInfo {
  std::string name;         // as a device is chosen by: "cpu", "vulkan:0", "cuda:0"
  std::string description;  // "NVIDIA H200"
  DeviceMemory memory;
};

// How a device is wanted.
struct DeviceOptions {
  // What a row gives does not depend on where its sequence was cut into steps either, also where that costs
  // speed: GPUs then take prompts row by row, as they take answers.
  bool is_deterministic = false;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;         // as a device is chosen by: "cpu", "cuda:0"
  virtual std::string_view description() const = 0;  // what it says of itself: "NVIDIA H200"
  virtual DeviceMemory memory() const = 0;
  virtual const OpTable& ops() const = 0;
  virtual int n_threads() const { return 1; }  // that a kernel may share its scratch memory among
  virtual size_t max_buffer_bytes() const { return SIZE_MAX; }  // that allocate() can give in one piece

  // Steps of up to so many rows give each of them the same bits as if its sequence were alone, where a model
  // has weights of this type. A larger step need not, unless all its rows are one sequence's.
  virtual int64_t most_alike_rows(DType /*weights*/) const { return INT64_MAX; }

  // Uninitialised memory, or out_of_memory with the figures.
  virtual Result<std::unique_ptr<Buffer>> allocate(size_t bytes) = 0;

  // One weight: a buffer over bytes that stay mapped as long as it lives. The CPU points at them, a GPU
  // uploads them once, in order with what its streams do later.
  virtual Result<std::unique_ptr<Buffer>> import_weights(std::span<const std::byte> bytes) = 0;

  // The copy of an imported weight that products read faster than the weight itself, which they do from when
  // it is made, with the same results; none where there is no such.
  virtual std::optional<OwnCopy> copy_for_products(const Tensor& /*weight*/) { return std::nullopt; }

  virtual std::unique_ptr<Stream> make_stream() = 0;
};

// What a dry run of a model learns: the memory of a step, and kernels that the device lacks.
struct Plan {
  size_t workspace_bytes = 0;
  size_t scratch_bytes = 0;
  int64_t most_alike_rows = INT64_MAX;  // of the device, for the weights that were met
  std::vector<std::string> missing;     // "matmul iq2_xxs (blk.0.ffn_down.weight)"
};

class Stream {
 public:
  explicit Stream(Device& device);
  virtual ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device& device() const { return device_; }

  // A device can fail in the middle of its work (lost, reset, out of memory). Operations and uploads then do
  // nothing more, and the next download() or synchronize() says what happened.

  // Host memory to the device, in order with the operations. `dst` is as large as `bytes`, which may go away
  // after the call.
  virtual void upload(const Tensor& dst, std::span<const std::byte> bytes) = 0;
  // Device to host memory; returns when the bytes are there.
  virtual Result<void> download(std::span<std::byte> bytes, const Tensor& src) = 0;
  // The same in two parts: begins to bring up to kMostLater bytes to the host, in order with the operations,
  // those of a second tensor behind those of the first; what is queued behind goes on while end_download()
  // waits for them. What was begun ends in that order, a few may be under way at once, and `bytes` are as
  // many as were begun.
  static constexpr size_t kMostLater = size_t{512} << 10;
  virtual void begin_download(const Tensor& src, const Tensor& second = {});
  virtual Result<void> end_download(std::span<std::byte> bytes);
  // Device memory to memory of the same device, in order with the operations.
  virtual void copy(const Tensor& dst, const Tensor& src) = 0;
  virtual Result<void> synchronize() = 0;

  // Has the system give now the memory of these stretches of buffers; what they hold stays as it is. On the
  // CPU the system gives memory when it is first written, and takes about as long for it as kernels for
  // writing it several times. A step of its own, on all threads; nothing on other devices.
  virtual void take_memory(std::span<const std::span<std::byte>> /*stretches*/) {}

  // Calls task(i) for every i in [0, n_tasks), in any order: the host's work on what a step has given, on the
  // threads that the CPU computes with, or on some of its own beside another device. Returns when all are
  // done. Not within a step.
  virtual void on_host(int64_t n_tasks, FunctionRef<void(int64_t task)> task);

  // Runs the operations that `record` calls. Steps with the same key record the same operations on the same
  // addresses (what differs between them lies in device tensors), so that a device may keep the recording of
  // the first and replay it without calling `record` again; with kOnce it does not. The workspace is empty at
  // the start of a step, and what a step leaves there is valid until the next one.
  static constexpr uint64_t kOnce = 0;
  void step(uint64_t key, FunctionRef<void()> record) {
    if (cancelled()) return;
    run_step(key, [&] {
      workspace_.release_to(0);
      record();
    });
  }

  // Whether a device keeps recordings, so that steps of few shapes are worth more than small ones.
  virtual bool keeps_recordings() const { return false; }

  // Runs `record` without computing anything and reports what it needs.
  Plan dry_run(FunctionRef<void()> record);
  // Allocates workspace and scratch memory for steps up to the size of the plan.
  Result<void> reserve(const Plan& plan);

  Arena& workspace() { return workspace_; }
  size_t reserved_bytes() const {
    return (workspace_buffer_ ? workspace_buffer_->size() : 0) + scratch().size();
  }
  std::span<std::byte> scratch() const {
    return scratch_ ? std::span(scratch_->base(), scratch_->size()) : std::span<std::byte>();
  }

  // Whether what is left of the running step is wanted by nobody: it is skipped, kernel by kernel. See
  // CancellableWork.
  bool cancelled() const {
    return !cancellations_.empty() &&
           std::ranges::all_of(cancellations_, [](const Cancellation& c) { return c.cancelled(); });
  }

  Plan* plan() { return plan_; }  // non-null during a dry run

 protected:
  // A device that keeps recordings overrides both.
  virtual void run_step(uint64_t key, FunctionRef<void()> record) {
    (void)key;
    record();
  }
  virtual void forget_recordings() {}  // the memory that they use is about to be replaced

  Buffer* scratch_buffer() const { return scratch_.get(); }

  // Buffers that a derived stream's last operations may still use are freed by its destructor first.
  void release_memory() {
    workspace_buffer_.reset();
    scratch_.reset();
  }

 private:
  friend class CancellableWork;

  Device& device_;
  Arena workspace_;
  std::unique_ptr<Buffer> workspace_buffer_;
  std::unique_ptr<Buffer> scratch_;
  std::span<const Cancellation>
      cancellations_;  // of those whom the running work is for; none: it is not cancelled
  Plan* plan_ = nullptr;
  std::unique_ptr<ThreadPool> host_threads_;               // from when they are first wanted
  std::deque<Result<std::vector<std::byte>>> downloaded_;  // begun and not ended
};

// What a stream computes while this lives is for those who hold these tickets, and ends when all of them are
// cancelled. The tickets must outlive it.
class CancellableWork {
 public:
  CancellableWork(Stream& stream, std::span<const Cancellation> tickets) : stream_(stream) {
    stream_.cancellations_ = tickets;
  }
  CancellableWork(Stream& stream, const Cancellation& ticket)
      : CancellableWork(stream, std::span(&ticket, 1)) {}
  CancellableWork(Stream& stream, Cancellation&& ticket) = delete;
  ~CancellableWork() { stream_.cancellations_ = {}; }
  CancellableWork(const CancellableWork&) = delete;
  CancellableWork& operator=(const CancellableWork&) = delete;

 private:
  Stream& stream_;
};

// Activations allocated while a frame lives are released when it ends (their kernels stay ordered on the
// stream).
class Frame {
 public:
  explicit Frame(Stream& stream) : arena_(stream.workspace()), mark_(arena_.top()) {}
  ~Frame() { arena_.release_to(mark_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

 private:
  Arena& arena_;
  size_t mark_;
};

}  // namespace parlance
