// How operations launch shaders: by names, buffers and numbers, without the driver's types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/device.h"

namespace parlance::vulkan {

// What a device can do, as its driver says. No kernel needs a `has_`; some are faster with it.
struct DeviceLimits {
  uint32_t subgroup_size = 0;            // invocations that run in step; 8 to 64 on devices of today
  bool has_subgroup_arithmetic = false;  // sums over them; else shared memory is used
  std::array<uint32_t, 3> max_groups{};  // of one launch
  uint32_t max_group_invocations = 0;
  size_t max_storage_range = 0;     // bytes that a shader sees of one buffer
  size_t shared_bytes = 0;          // of one group
  bool has_16_bit_storage = false;  // 16-bit values in buffers
  bool has_8_bit_storage = false;   // 8-bit values in buffers
  bool has_float16 = false;         // arithmetic on them
  bool has_int8 = false;
  bool has_integer_dot_product = false;  // dot products of packed bytes, in hardware
  bool orders_groups = true;      // what a group writes before an atomic operation, others see after it
  bool is_software = false;       // runs on the CPU
  bool is_deterministic = false;  // see DeviceOptions: not of the device, but asked for
};

// A storage buffer as a shader sees it: `size` bytes from `offset`, or with size 0 all that follows it.
// Without a buffer, a small one that nobody reads.
struct Operand {
  Buffer* buffer = nullptr;
  size_t offset = 0;  // a multiple of 256
  size_t size = 0;    // beyond the buffer's end only in a JointOperand
};

// Tensors of several buffers as one operand, each `at` so many bytes of it.
struct JointOperand {
  Operand operand;
  std::vector<uint32_t> at;
};

// The whole buffer of the tensor, so that shaders are given offsets; nothing when the tensor is absent.
Operand operand_of(const Tensor& tensor);

// None where the driver has the tensors in different pieces of memory, or shaders do not see as much.
std::optional<JointOperand> joint_operand(Stream& s, std::span<const Tensor> tensors);

// Where the tensor starts in its buffer, in words of 4 bytes and in bytes; 0 when it is absent.
uint32_t word_offset(const Tensor& tensor);
uint32_t byte_offset(const Tensor& tensor);

// Number of groups of a launch.
struct Groups {
  uint32_t x = 1, y = 1, z = 1;
};

// Records one launch of `shader`.comp with specialization constants 0.. , operands as bindings 0.. of set 0,
// and push constants (at most 128 bytes). It starts when what was recorded before is finished and visible,
// but for what a SideBySide says.
void dispatch(Stream& s, std::string_view shader, std::span<const uint32_t> specialization,
              std::span<const Operand> operands, std::span<const std::byte> push, Groups groups);

template <class Push>
void dispatch(Stream& s, std::string_view shader, std::span<const uint32_t> specialization,
              std::initializer_list<Operand> operands, const Push& push, Groups groups) {
  static_assert(sizeof(Push) <= 128 && sizeof(Push) % 4 == 0);
  dispatch(s, shader, specialization, std::span<const Operand>(operands.begin(), operands.size()),
           std::as_bytes(std::span(&push, 1)), groups);
}

template <class Push>
void dispatch(Stream& s, std::string_view shader, std::initializer_list<uint32_t> specialization,
              std::initializer_list<Operand> operands, const Push& push, Groups groups) {
  dispatch(s, shader, std::span<const uint32_t>(specialization.begin(), specialization.size()), operands,
           push, groups);
}

// Launches recorded while this lives read nothing that another of them writes, so that they need not wait for
// each other: only for what came before the first of them. A wait takes as long as a small launch.
class SideBySide {
 public:
  explicit SideBySide(Stream& s);
  ~SideBySide();
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;

 private:
  Stream& stream_;
};

const DeviceLimits& limits_of(Stream& s);

// The stream's scratch memory.
Operand scratch_of(Stream& s);

// What `make` yields, in memory of the device since somebody first asked for this name.
Operand constants(Stream& s, std::string_view name, FunctionRef<std::vector<float>()> make);

// Numbers of this stream that are 0 when a launch starts, for groups that count each other; who has counted
// sets them back.
inline constexpr size_t kCounters = 4096;
Operand counters(Stream& s);

}  // namespace parlance::vulkan
