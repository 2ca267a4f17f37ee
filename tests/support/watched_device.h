// The CPU as a device that tells a test of every operation before it runs, so that something can happen
// between any two of them. It is deterministic: what happens there must not change a bit of what follows.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "base/parameter.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/device.h"

namespace parlance::test {

class WatchedDevice final : public Device {
 public:
  explicit WatchedDevice(int n_threads = 1)
      : cpu_(std::move(*make_cpu_device({.n_threads = n_threads, .deterministic = true}))),
        processors_(n_threads, /*pin=*/false),
        ops_(watched(cpu_->ops())) {
    current() = this;
  }
  ~WatchedDevice() override { current() = nullptr; }

  // Called before each operation of the models (packed caches aside); one device at a time.
  std::function<void()> on_operation;

  // Told of every token that draw_tokens finds, which it may change.
  std::function<void(int32_t& token)> on_drawn;

  // What it says of itself; whether steps are cut depends on it.
  int64_t n_alike = INT64_MAX;

  size_t n_in_use = 0;            // bytes that are allocated, weights aside
  size_t most_in_use = SIZE_MAX;  // that may be

  std::string_view name() const override { return "cpu"; }
  std::string_view description() const override { return "watched"; }
  DeviceMemory memory() const override { return cpu_->memory(); }
  const OpTable& ops() const override { return ops_; }
  int n_threads() const override { return cpu_->n_threads(); }
  int64_t most_alike_rows(DType /*weights*/) const override { return n_alike; }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
    if (bytes > most_in_use - std::min(n_in_use, most_in_use)) {
      return fail(ErrorCode::out_of_memory, "cpu: cannot allocate {} bytes; use a smaller {}", bytes,
                  Parameter::ctx_size);
    }
    auto buffer = cpu_->allocate(bytes);
    if (!buffer) return buffer;
    return std::make_unique<CountedBuffer>(*std::move(buffer), n_in_use);
  }
  Result<std::unique_ptr<Buffer>> import_weights(std::span<const std::byte> bytes) override {
    return cpu_->import_weights(bytes);
  }
  std::unique_ptr<Stream> make_stream() override {
    return std::make_unique<CpuStream>(*this, processors_, /*rank=*/0);
  }

 private:
  class CountedBuffer final : public Buffer {
   public:
    CountedBuffer(std::unique_ptr<Buffer> buffer, size_t& n_in_use)
        : Buffer(buffer->base(), buffer->size()), buffer_(std::move(buffer)), n_in_use_(n_in_use) {
      n_in_use_ += size();
    }
    ~CountedBuffer() override { n_in_use_ -= size(); }

   private:
    std::unique_ptr<Buffer> buffer_;
    size_t& n_in_use_;
  };

  static WatchedDevice*& current() {
    static WatchedDevice* device = nullptr;
    return device;
  }
  static void notice() {
    if (current()->on_operation) current()->on_operation();
  }
  static const OpTable& plain() { return current()->cpu_->ops(); }

  template <auto kMember, class Args>
  static void watch_one(Cell<Args>& cell) {
    watch(
        cell, +[](Stream& s, const Args& a) { notice(), (plain().*kMember).run(s, a); });
  }
  template <class Args>
  static void watch(Cell<Args>& cell, void (*run)(Stream&, const Args&)) {
    if (cell.run) cell.run = run;
  }
  template <class Cells, class Args>
  static void watch_all(Cells& cells, void (*run)(Stream&, const Args&)) {
    for (auto& cell : cells) {
      if constexpr (requires { cell.run; }) {
        watch(cell, run);
      } else {
        watch_all(cell, run);
      }
    }
  }

  static OpTable watched(OpTable ops) {
    watch_all(
        ops.get_rows, +[](Stream& s, const GetRowsArgs& a) {
          notice();
          plain().get_rows[static_cast<size_t>(a.table.dtype)].run(s, a);
        });
    watch_all(
        ops.matmul, +[](Stream& s, const MatmulArgs& a) {
          notice();
          plain().matmul[static_cast<size_t>(a.w[0].weight.dtype)].run(s, a);
        });
    watch_all(
        ops.norm_rope_write, +[](Stream& s, const NormRopeWriteArgs& a) {
          notice();
          const KvView& kv = a.write.kv;
          plain().norm_rope_write[static_cast<size_t>(kv.k.format)][static_cast<size_t>(kv.v.format)].run(s,
                                                                                                          a);
        });
    watch_all(
        ops.attention, +[](Stream& s, const AttentionArgs& a) {
          notice();
          plain().attention[static_cast<size_t>(a.kv.k.format)][static_cast<size_t>(a.kv.v.format)].run(s, a);
        });
    watch_all(
        ops.kv_compress, +[](Stream& s, const KvCompressArgs& a) {
          notice();
          plain().kv_compress[static_cast<size_t>(a.kv.k.format)][static_cast<size_t>(a.kv.v.format)].run(s,
                                                                                                          a);
        });
    watch_all(
        ops.kv_write, +[](Stream& s, const KvWriteArgs& a) {
          notice();
          plain().kv_write[static_cast<size_t>(a.kv.k.format)][static_cast<size_t>(a.kv.v.format)].run(s, a);
        });
    watch_one<&OpTable::kv_copy>(ops.kv_copy);
    watch_one<&OpTable::rms_norm>(ops.rms_norm);
    watch_one<&OpTable::layer_norm>(ops.layer_norm);
    watch_one<&OpTable::add_rms_norm>(ops.add_rms_norm);
    watch_one<&OpTable::rope_angles>(ops.rope_angles);
    watch_one<&OpTable::sectioned_rope_angles>(ops.sectioned_rope_angles);
    watch_one<&OpTable::rope>(ops.rope);
    watch_one<&OpTable::segment_attention>(ops.segment_attention);
    watch_one<&OpTable::short_conv>(ops.short_conv);
    watch_one<&OpTable::gated_delta_net>(ops.gated_delta_net);
    watch_one<&OpTable::split_gate>(ops.split_gate);
    watch_one<&OpTable::sigmoid_gate>(ops.sigmoid_gate);
    watch_one<&OpTable::gated_rms_norm>(ops.gated_rms_norm);
    watch_one<&OpTable::im2col>(ops.im2col);
    watch_one<&OpTable::col2im>(ops.col2im);
    watch_one<&OpTable::put_channels>(ops.put_channels);
    watch_one<&OpTable::snake>(ops.snake);
    watch_one<&OpTable::elu>(ops.elu);
    watch_one<&OpTable::channel_norm>(ops.channel_norm);
    watch_one<&OpTable::gelu>(ops.gelu);
    watch_one<&OpTable::swiglu>(ops.swiglu);
    watch_one<&OpTable::add>(ops.add);
    watch_one<&OpTable::argmax>(ops.argmax);
    watch_one<&OpTable::top_logits>(ops.top_logits);
    watch(
        ops.draw_tokens, +[](Stream& s, const DrawTokensArgs& a) {
          notice();
          plain().draw_tokens.run(s, a);
          if (!current()->on_drawn) return;
          for (int64_t i = 0; i < a.tokens.n_elements(); ++i) current()->on_drawn(a.tokens.as<int32_t>()[i]);
        });
    return ops;
  }

  std::unique_ptr<Device> cpu_;
  Processors processors_;
  OpTable ops_;
};

}  // namespace parlance::test
