// A stream of a Vulkan device: operations are recorded into command buffers, and what is pending goes to the
// device as one submission when somebody wants to read. Steps with a key are recorded once and their command
// buffer is kept.
#pragma once

#include <array>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/vulkan/runtime/device.h"
#include "kernels/vulkan/runtime/recording.h"
#include "kernels/vulkan/runtime/shader_stream.h"

namespace parlance::vulkan {

class VulkanStream final : public ShaderStream {
 public:
  explicit VulkanStream(VulkanDevice& device);
  ~VulkanStream() override;

  void upload(const Tensor& dst, std::span<const std::byte> bytes) override;
  Result<void> download(std::span<std::byte> bytes, const Tensor& src) override;
  void begin_download(const Tensor& src, const Tensor& second) override;
  Result<void> end_download(std::span<std::byte> bytes) override;
  void copy(const Tensor& dst, const Tensor& src) override;
  Result<void> synchronize() override;

  void dispatch(std::string_view shader, std::span<const uint32_t> specialization,
                std::span<const Operand> operands, std::span<const std::byte> push, Groups groups) override;
  void begin_side_by_side() override { order_ = Order::first_of_group; }
  void end_side_by_side() override { order_ = Order::one_by_one; }
  const DeviceLimits& limits() const override { return context_.limits; }
  Operand scratch_operand() override;
  std::optional<ptrdiff_t> bytes_between(const Buffer& from, const Buffer& to) const override;
  Operand constants(std::string_view name, FunctionRef<std::vector<float>()> make) override;
  Operand counters() override;
  bool keeps_recordings() const override { return true; }

 protected:
  void run_step(uint64_t key, FunctionRef<void()> record) override;
  void forget_recordings() override;

 private:
  // Whether a launch waits for those before it: all but the later ones of a group do.
  enum class Order { one_by_one, first_of_group, later_in_group };

  struct KeptStep {
    uint64_t key;
    std::unique_ptr<Recording> recording;
  };

  // What was given to the device at once.
  struct Submission {
    uint64_t number = 0;
    VkFence fence = VK_NULL_HANDLE;
    std::vector<std::unique_ptr<Recording>> once;  // of it, those that are not kept
  };

  // Downloads that were begun and not ended, at most, each with a place of its own in readback_.
  static constexpr uint64_t kLandings = 4;

  void start();
  // Where commands go now, or null after an error: the step that is being recorded, or else loose_.
  Recording* target();
  std::unique_ptr<Recording> fresh_recording();
  void close_loose();
  void queue(Recording& recording);
  void keep(uint64_t key, std::unique_ptr<Recording> recording);
  void submit();
  void poll(VkFence fence) const;
  // Submits what is pending and waits until the device has done everything, or all up to a submission.
  void wait() { wait(UINT64_MAX); }
  void wait(uint64_t number);
  void note(VkResult result);
  void note(const Error& error);
  bool bind(const Operand& operand, VkDescriptorBufferInfo& info);
  bool copy_piece(const Tensor& src, size_t offset, std::span<std::byte> piece);

  VulkanDevice& vulkan_device_;
  Context& context_;
  std::optional<Error> error_;  // the first one; nothing is done after it
  VkCommandPool command_pool_ = VK_NULL_HANDLE;
  std::unique_ptr<Allocation> staging_;   // bytes of uploads until the device has copied them
  std::unique_ptr<Allocation> readback_;  // bytes of a download
  size_t staging_used_ = 0;
  std::unique_ptr<Buffer> counters_;

  Order order_ = Order::one_by_one;
  std::unique_ptr<Recording> loose_;  // commands outside of steps, still open
  std::unique_ptr<Recording> step_;   // the step that is being recorded
  std::list<KeptStep> kept_;          // the last one used first

  std::vector<VkCommandBuffer> pending_;  // to be submitted, in order
  size_t n_pending_commands_ = 0;
  std::vector<std::unique_ptr<Recording>> once_;  // pending, not kept
  std::deque<Submission> on_device_;              // that nobody has waited for
  uint64_t n_submitted_ = 0;
  std::array<uint64_t, kLandings> landed_with_ = {};  // the submission that a download comes with
  uint64_t n_begun_ = 0, n_ended_ = 0;                // downloads
  std::vector<std::unique_ptr<Recording>> spare_;
  std::vector<VkFence> spare_fences_;
};

}  // namespace parlance::vulkan
