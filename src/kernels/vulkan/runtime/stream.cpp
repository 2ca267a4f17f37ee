#include "kernels/vulkan/runtime/stream.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/parameter.h"
#include "kernels/vulkan/runtime/copy.h"

namespace parlance::vulkan {

namespace {

constexpr size_t kStagingBytes = size_t{16} << 20;
constexpr size_t kReadbackBytes = size_t{4} << 20;  // the logits of a million tokens: one piece for each step
constexpr size_t kMaxKept = 32;                     // recorded steps
// More is given to the device early, so that it does not wait for the recording of a long prompt.
constexpr size_t kMaxPendingCommands = 4096;
constexpr size_t kMaxOnDevice = 4;  // submissions
// A thread that sleeps until the device is done is woken tens of microseconds later: long beside a small
// model's token.
constexpr std::chrono::milliseconds kLongestPolling{2};

const VulkanBuffer& vulkan_buffer(const Tensor& tensor) {
  return static_cast<const VulkanBuffer&>(*tensor.buffer);
}

// Of the tensor's first byte in its VkBuffer.
size_t block_offset(const Tensor& tensor) {
  return vulkan_buffer(tensor).offset() + static_cast<size_t>(tensor.data - tensor.buffer->base());
}

}  // namespace

VulkanStream::VulkanStream(VulkanDevice& device)
    : ShaderStream(device), vulkan_device_(device), context_(device.context()) {
  start();
}

void VulkanStream::start() {
  auto pool = typed<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = context_.queue_family;
  note(context_.vk.vkCreateCommandPool(context_.device, &pool, nullptr, &command_pool_));
  staging_ = allocate_memory(context_, kStagingBytes, Placement::staging);
  readback_ = allocate_memory(context_, kReadbackBytes + kLandings * kMostLater, Placement::readback);
  if (!staging_ || !readback_) note(VK_ERROR_OUT_OF_HOST_MEMORY);
}

VulkanStream::~VulkanStream() {
  // What is pending is dropped: nobody can read it any more.
  for (const Submission& submission : on_device_) {
    context_.vk.vkWaitForFences(context_.device, 1, &submission.fence, VK_TRUE, UINT64_MAX);
    context_.vk.vkDestroyFence(context_.device, submission.fence, nullptr);
  }
  on_device_.clear();
  for (const VkFence fence : spare_fences_) context_.vk.vkDestroyFence(context_.device, fence, nullptr);
  kept_.clear();
  once_.clear();
  spare_.clear();
  loose_.reset();
  context_.vk.vkDestroyCommandPool(context_.device, command_pool_, nullptr);
}

void VulkanStream::note(VkResult result) {
  if (result == VK_SUCCESS) return;
  note(Error{ErrorCode::device_failed,
             fmt::format("{} ({}): {}; start the program again, update the driver, or use {}",
                         context_.physical.name, context_.physical.properties.deviceName, meaning_of(result),
                         set_to(Parameter::device, "cpu"))});
}

void VulkanStream::note(const Error& error) {
  if (!error_) error_ = error;
}

std::unique_ptr<Recording> VulkanStream::fresh_recording() {
  std::unique_ptr<Recording> recording;
  if (spare_.empty()) {
    recording = std::make_unique<Recording>(context_, command_pool_);
  } else {
    recording = std::move(spare_.back());
    spare_.pop_back();
  }
  note(recording->begin());
  return recording;
}

Recording* VulkanStream::target() {
  if (error_) return nullptr;
  if (step_) return step_.get();
  if (!loose_) loose_ = fresh_recording();
  return error_ ? nullptr : loose_.get();
}

void VulkanStream::queue(Recording& recording) {
  pending_.push_back(recording.handle());
  n_pending_commands_ += recording.n_commands();
}

void VulkanStream::close_loose() {
  if (!loose_) return;
  note(loose_->end());
  queue(*loose_);
  once_.push_back(std::move(loose_));
}

// Gives everything pending to the device, without waiting for it.
void VulkanStream::submit() {
  close_loose();
  if (error_ || pending_.empty()) return;
  VkFence fence = VK_NULL_HANDLE;
  if (spare_fences_.empty()) {
    const auto info = typed<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    note(context_.vk.vkCreateFence(context_.device, &info, nullptr, &fence));
    if (error_) return;
  } else {
    fence = spare_fences_.back();
    spare_fences_.pop_back();
  }
  const VkResult result = context_.submit(pending_, fence);
  if (result == VK_SUCCESS) {
    on_device_.push_back({++n_submitted_, fence, std::move(once_)});
    once_.clear();
  } else {
    spare_fences_.push_back(fence);
  }
  note(result);
  pending_.clear();
  n_pending_commands_ = 0;
  if (on_device_.size() >= kMaxOnDevice) wait();
}

// Looks whether the device has done all up to a fence, for a while. Where it is the CPU, that would take its
// time.
void VulkanStream::poll(VkFence fence) const {
  if (context_.physical.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) return;
  const auto end = std::chrono::steady_clock::now() + kLongestPolling;
  while (context_.vk.vkGetFenceStatus(context_.device, fence) == VK_NOT_READY &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
}

void VulkanStream::wait(uint64_t number) {
  if (number > n_submitted_) submit();
  // The last one that is waited for is the last to be done.
  const auto end = std::ranges::find_if(on_device_, [&](const Submission& s) { return s.number > number; });
  if (end == on_device_.begin()) return;
  const VkFence last = std::prev(end)->fence;
  poll(last);
  note(context_.vk.vkWaitForFences(context_.device, 1, &last, VK_TRUE, UINT64_MAX));
  if (error_) return;
  for (auto done = on_device_.begin(); done != end; ++done) {
    note(context_.vk.vkWaitForFences(context_.device, 1, &done->fence, VK_TRUE, UINT64_MAX));
    note(context_.vk.vkResetFences(context_.device, 1, &done->fence));
    if (error_) return;
    spare_fences_.push_back(done->fence);
    std::ranges::move(done->once, std::back_inserter(spare_));
  }
  on_device_.erase(on_device_.begin(), end);
  if (on_device_.empty() && pending_.empty() && !loose_) staging_used_ = 0;
}

Result<void> VulkanStream::synchronize() {
  wait();
  if (error_) return tl::unexpected(*error_);
  return {};
}

void VulkanStream::upload(const Tensor& dst, std::span<const std::byte> bytes) {
  assert(dst.size() == bytes.size() && !step_);
  for (size_t done = 0; done < bytes.size();) {
    if (staging_used_ == kStagingBytes) wait();
    Recording* recording = target();
    if (!recording) return;
    const size_t n = std::min(bytes.size() - done, kStagingBytes - staging_used_);
    std::memcpy(staging_->mapped + staging_used_, bytes.data() + done, n);
    recording->copy(staging_->buffer, staging_used_, vulkan_buffer(dst).handle(), block_offset(dst) + done,
                    n);
    // Copies run at full speed from aligned offsets.
    staging_used_ = std::min(kStagingBytes, (staging_used_ + n + 255) / 256 * 256);
    done += n;
  }
}

bool VulkanStream::copy_piece(const Tensor& src, size_t offset, std::span<std::byte> piece) {
  Recording* recording = target();
  if (!recording) return false;
  recording->copy(vulkan_buffer(src).handle(), block_offset(src) + offset, readback_->buffer, 0,
                  piece.size());
  recording->show_to_host();
  wait();
  if (error_) return false;
  std::memcpy(piece.data(), readback_->mapped, piece.size());
  return true;
}

Result<void> VulkanStream::download(std::span<std::byte> bytes, const Tensor& src) {
  assert(src.size() == bytes.size() && !step_);
  for (size_t done = 0; done < bytes.size(); done += kReadbackBytes) {
    if (!copy_piece(src, done, bytes.subspan(done, std::min(kReadbackBytes, bytes.size() - done)))) break;
  }
  if (error_) return tl::unexpected(*error_);
  return {};
}

void VulkanStream::begin_download(const Tensor& src, const Tensor& second) {
  assert(n_begun_ - n_ended_ < kLandings && !step_);
  const uint64_t landing = n_begun_++ % kLandings;
  Recording* recording = target();
  if (!recording) return;
  size_t at = kReadbackBytes + landing * kMostLater;
  for (const Tensor* tensor : {&src, &second}) {
    if (!*tensor) continue;
    recording->copy(vulkan_buffer(*tensor).handle(), block_offset(*tensor), readback_->buffer, at,
                    tensor->size());
    at += tensor->size();
  }
  assert(at <= kReadbackBytes + (landing + 1) * kMostLater);
  recording->show_to_host();
  submit();
  landed_with_[landing] = n_submitted_;
}

Result<void> VulkanStream::end_download(std::span<std::byte> bytes) {
  const uint64_t landing = n_ended_++ % kLandings;
  wait(landed_with_[landing]);
  if (error_) return tl::unexpected(*error_);
  if (!bytes.empty())
    std::memcpy(bytes.data(), readback_->mapped + kReadbackBytes + landing * kMostLater, bytes.size());
  return {};
}

void VulkanStream::copy(const Tensor& dst, const Tensor& src) {
  assert(dst.size() == src.size() && order_ == Order::one_by_one);
  if (copy_by_shader(*this, dst, src)) return;
  Recording* recording = src.size() > 0 ? target() : nullptr;
  if (!recording) return;
  recording->copy(vulkan_buffer(src).handle(), block_offset(src), vulkan_buffer(dst).handle(),
                  block_offset(dst), src.size());
}

void VulkanStream::run_step(uint64_t key, FunctionRef<void()> record) {
  assert(!step_);
  close_loose();
  // The caller learns where results would lie, and from their download what happened.
  if (error_) return record();
  const auto kept = key == kOnce ? kept_.end()
                                 : std::find_if(kept_.begin(), kept_.end(),
                                                [&](const KeptStep& step) { return step.key == key; });
  if (kept != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, kept);
    queue(*kept_.front().recording);
  } else {
    step_ = fresh_recording();
    record();
    if (!error_) note(step_->end());
    std::unique_ptr<Recording> recording = std::move(step_);
    if (error_) return;
    queue(*recording);
    // A cancelled step lacks its last operations, and the next step of that key needs them.
    if (key == kOnce || cancelled()) {
      once_.push_back(std::move(recording));
    } else {
      keep(key, std::move(recording));
    }
  }
  if (n_pending_commands_ > kMaxPendingCommands) submit();
}

void VulkanStream::keep(uint64_t key, std::unique_ptr<Recording> recording) {
  kept_.push_front({key, std::move(recording)});
  if (kept_.size() <= kMaxKept) return;
  once_.push_back(std::move(kept_.back().recording));  // it may be on the device still
  kept_.pop_back();
}

void VulkanStream::forget_recordings() {
  wait();
  kept_.clear();
}

// Describes an operand to a shader; false, with the error noted, when a shader cannot see that much.
bool VulkanStream::bind(const Operand& operand, VkDescriptorBufferInfo& info) {
  if (!operand.buffer) {
    info = {staging_->buffer, 0, MemoryPool::kAlignment};
    return true;
  }
  const auto& buffer = static_cast<const VulkanBuffer&>(*operand.buffer);
  const size_t size = operand.size > 0 ? operand.size : buffer.padded_size() - operand.offset;
  assert(buffer.offset() + operand.offset + size <= buffer.block().size);
  if (size > context_.limits.max_storage_range) {
    note(Error{
        ErrorCode::unsupported,
        fmt::format(
            "{} ({}): a kernel needs {} bytes of memory in one piece and this driver shows {} to it; use a "
            "smaller model or context, or {}",
            context_.physical.name, context_.physical.properties.deviceName, size,
            context_.limits.max_storage_range, set_to(Parameter::device, "cpu"))});
    return false;
  }
  info = {buffer.handle(), buffer.offset() + operand.offset, size};
  return true;
}

void VulkanStream::dispatch(std::string_view shader, std::span<const uint32_t> specialization,
                            std::span<const Operand> operands, std::span<const std::byte> push,
                            Groups groups) {
  assert(push.size() <= Pipelines::kPushBytes && operands.size() <= Pipelines::kMaxBindings);
  if (groups.x == 0 || groups.y == 0 || groups.z == 0) return;
  Recording* recording = target();
  if (!recording) return;
  const Result<Pipeline> pipeline = vulkan_device_.pipelines().get(shader, specialization, operands.size());
  if (!pipeline) return note(pipeline.error());
  std::array<VkDescriptorBufferInfo, Pipelines::kMaxBindings> buffers;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!bind(operands[i], buffers[i])) return;
  }
  if (order_ != Order::later_in_group) recording->wait_for_earlier_commands();
  if (order_ == Order::first_of_group) order_ = Order::later_in_group;
  note(recording->dispatch(*pipeline, std::span(buffers.data(), operands.size()), push, groups));
  if (!step_ && recording->n_commands() > kMaxPendingCommands) submit();
}

Operand VulkanStream::scratch_operand() {
  return {.buffer = scratch_buffer()};
}

std::optional<ptrdiff_t> VulkanStream::bytes_between(const Buffer& from, const Buffer& to) const {
  const auto& first = static_cast<const VulkanBuffer&>(from);
  const auto& second = static_cast<const VulkanBuffer&>(to);
  if (&first.block() != &second.block()) return std::nullopt;
  return static_cast<ptrdiff_t>(second.offset()) - static_cast<ptrdiff_t>(first.offset());
}

Operand VulkanStream::constants(std::string_view name, FunctionRef<std::vector<float>()> make) {
  const Result<Buffer*> buffer = vulkan_device_.constants(name, make);
  if (buffer) return {.buffer = *buffer};
  note(buffer.error());
  return {};
}

// Also while a step is recorded: they are zero before it runs.
Operand VulkanStream::counters() {
  if (!counters_) {
    const std::vector<uint32_t> zeros(kCounters);
    auto made = vulkan_device_.import_weights(std::as_bytes(std::span(zeros)));
    if (!made) {
      note(made.error());
      return {};
    }
    counters_ = std::move(*made);
  }
  return {.buffer = counters_.get()};
}

}  // namespace parlance::vulkan
