// The CPU as a device that tells a test of every operation before it runs, so that something can happen
// between any two of them.
#pragma once

#include <functional>
#include <memory>

#include "base/right_of_way.h"
#include "base/thread_pool.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/device.h"

namespace parlance::test {

class WatchedDevice final : public Device {
 public:
  explicit WatchedDevice(int n_threads = 1)
      : cpu_(std::move(*make_cpu_device({.n_threads = n_threads}))),
        pool_(n_threads, /*pin=*/false),
        ops_(watched(cpu_->ops())) {
    current() = this;
  }
  ~WatchedDevice() override { current() = nullptr; }

  // Called before each operation of the text models; one device at a time.
  std::function<void()> on_operation;

  std::string_view name() const override { return "cpu"; }
  std::string_view description() const override { return "watched"; }
  DeviceMemory memory() const override { return cpu_->memory(); }
  const OpTable& ops() const override { return ops_; }
  int n_threads() const override { return cpu_->n_threads(); }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override { return cpu_->allocate(bytes); }
  Result<std::unique_ptr<Buffer>> import_weights(std::span<const std::byte> bytes) override {
    return cpu_->import_weights(bytes);
  }
  std::unique_ptr<Stream> make_stream() override {
    return std::make_unique<CpuStream>(*this, pool_, way_, /*rank=*/0);
  }

 private:
  static WatchedDevice*& current() {
    static WatchedDevice* device = nullptr;
    return device;
  }
  static void notice() {
    if (current()->on_operation) current()->on_operation();
  }
  static const OpTable& plain() { return current()->cpu_->ops(); }

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
    watch(
        ops.rms_norm, +[](Stream& s, const RmsNormArgs& a) { notice(), plain().rms_norm.run(s, a); });
    watch(
        ops.add_rms_norm,
        +[](Stream& s, const AddRmsNormArgs& a) { notice(), plain().add_rms_norm.run(s, a); });
    watch(
        ops.rope_angles,
        +[](Stream& s, const RopeAnglesArgs& a) { notice(), plain().rope_angles.run(s, a); });
    watch(
        ops.swiglu, +[](Stream& s, const SwigluArgs& a) { notice(), plain().swiglu.run(s, a); });
    watch(
        ops.add, +[](Stream& s, const AddArgs& a) { notice(), plain().add.run(s, a); });
    watch(
        ops.short_conv, +[](Stream& s, const ShortConvArgs& a) { notice(), plain().short_conv.run(s, a); });
    watch(
        ops.gated_delta_net,
        +[](Stream& s, const GatedDeltaNetArgs& a) { notice(), plain().gated_delta_net.run(s, a); });
    watch(
        ops.split_gate, +[](Stream& s, const SplitGateArgs& a) { notice(), plain().split_gate.run(s, a); });
    watch(
        ops.sigmoid_gate,
        +[](Stream& s, const SigmoidGateArgs& a) { notice(), plain().sigmoid_gate.run(s, a); });
    watch(
        ops.gated_rms_norm,
        +[](Stream& s, const GatedRmsNormArgs& a) { notice(), plain().gated_rms_norm.run(s, a); });
    return ops;
  }

  std::unique_ptr<Device> cpu_;
  ThreadPool pool_;
  RightOfWay way_;
  OpTable ops_;
};

}  // namespace parlance::test
