// Shaders made ready for a device, once for each set of specialization constants. What its driver can use
// again is kept in a file.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/vulkan/runtime/context.h"

namespace parlance::vulkan {

// How `n_bindings` storage buffers and the push constants are handed to a shader.
struct Interface {
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
};

struct Pipeline {
  VkPipeline handle = VK_NULL_HANDLE;
  Interface interface;
};

class Pipelines {
 public:
  static constexpr size_t kMaxBindings = 16;
  static constexpr uint32_t kPushBytes = 128;  // every device has them

  explicit Pipelines(Context& context) : context_(context) {}
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  // The shader of that name (found by find_shader) with `specialization` as its constants 0, 1, ….
  Result<Pipeline> get(std::string_view shader, std::span<const uint32_t> specialization, size_t n_bindings);

 private:
  VkResult make_cache();
  void keep_cache() const;
  VkResult make_interface(size_t n_bindings, Interface& interface);
  VkResult make(std::string_view shader, std::span<const uint32_t> specialization, size_t n_bindings,
                Pipeline& pipeline);

  Context& context_;
  std::mutex mutex_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::optional<std::filesystem::path> file_;               // of the cache
  std::array<Interface, kMaxBindings + 1> interfaces_;      // by number of bindings
  std::map<std::string, Pipeline, std::less<>> pipelines_;  // by name, then the bytes of the constants
};

}  // namespace parlance::vulkan
