#include "kernels/vulkan/runtime/pipelines.h"

#include <cassert>
#include <vector>

#include "base/parameter.h"
#include "kernels/vulkan/runtime/pipeline_file.h"
#include "kernels/vulkan/runtime/shaders.h"

namespace parlance::vulkan {

// A driver may refuse what another version wrote: then it starts with nothing.
VkResult Pipelines::make_cache() {
  file_ = pipeline_file_of(context_.physical);
  const auto bytes = file_ ? read_pipeline_file(*file_) : std::nullopt;
  auto cache = typed<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  if (bytes) {
    cache.initialDataSize = bytes->size();
    cache.pInitialData = bytes->data();
    const VkResult result = context_.vk.vkCreatePipelineCache(context_.device, &cache, nullptr, &cache_);
    if (result == VK_SUCCESS) return result;
    cache.initialDataSize = 0;
    cache.pInitialData = nullptr;
  }
  return context_.vk.vkCreatePipelineCache(context_.device, &cache, nullptr, &cache_);
}

void Pipelines::keep_cache() const {
  size_t n = 0;
  if (!file_ || cache_ == VK_NULL_HANDLE ||
      context_.vk.vkGetPipelineCacheData(context_.device, cache_, &n, nullptr) != VK_SUCCESS) {
    return;
  }
  std::vector<std::byte> bytes(n);
  if (context_.vk.vkGetPipelineCacheData(context_.device, cache_, &n, bytes.data()) != VK_SUCCESS) return;
  bytes.resize(n);
  if (read_pipeline_file(*file_) != bytes) write_pipeline_file(*file_, bytes);
}

Pipelines::~Pipelines() {
  keep_cache();
  const VolkDeviceTable& vk = context_.vk;
  for (auto& [key, pipeline] : pipelines_) vk.vkDestroyPipeline(context_.device, pipeline.handle, nullptr);
  for (Interface& interface : interfaces_) {
    vk.vkDestroyPipelineLayout(context_.device, interface.layout, nullptr);
    vk.vkDestroyDescriptorSetLayout(context_.device, interface.set, nullptr);
  }
  vk.vkDestroyPipelineCache(context_.device, cache_, nullptr);
}

VkResult Pipelines::make_interface(size_t n_bindings, Interface& interface) {
  if (interface.layout != VK_NULL_HANDLE) return VK_SUCCESS;
  std::vector<VkDescriptorSetLayoutBinding> bindings(n_bindings);
  for (uint32_t i = 0; i < n_bindings; ++i) {
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  }
  auto set = typed<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  set.bindingCount = static_cast<uint32_t>(n_bindings);
  set.pBindings = bindings.data();
  if (interface.set == VK_NULL_HANDLE) {
    const VkResult result =
        context_.vk.vkCreateDescriptorSetLayout(context_.device, &set, nullptr, &interface.set);
    if (result != VK_SUCCESS) return result;
  }
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes};
  auto layout = typed<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &interface.set;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &push;
  return context_.vk.vkCreatePipelineLayout(context_.device, &layout, nullptr, &interface.layout);
}

VkResult Pipelines::make(std::string_view shader, std::span<const uint32_t> specialization, size_t n_bindings,
                         Pipeline& pipeline) {
  const VolkDeviceTable& vk = context_.vk;
  if (cache_ == VK_NULL_HANDLE) {
    if (const VkResult result = make_cache(); result != VK_SUCCESS) return result;
  }
  if (const VkResult result = make_interface(n_bindings, interfaces_[n_bindings]); result != VK_SUCCESS)
    return result;
  pipeline.interface = interfaces_[n_bindings];

  std::span<const uint32_t> code;
  if (!context_.limits.has_subgroup_arithmetic) code = find_shader(std::string(shader) + "_no_subgroups");
  if (code.empty()) code = find_shader(shader);
  assert(!code.empty() && "every operation names a shader of this folder");
  auto module_info = typed<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  module_info.codeSize = code.size_bytes();
  module_info.pCode = code.data();
  VkShaderModule module = VK_NULL_HANDLE;
  if (const VkResult result = vk.vkCreateShaderModule(context_.device, &module_info, nullptr, &module);
      result != VK_SUCCESS) {
    return result;
  }
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < specialization.size(); ++i) entries.push_back({i, i * 4, 4});
  const VkSpecializationInfo constants{static_cast<uint32_t>(entries.size()), entries.data(),
                                       specialization.size_bytes(), specialization.data()};
  auto info = typed<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.stage = typed<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  info.layout = pipeline.interface.layout;
  const VkResult result =
      vk.vkCreateComputePipelines(context_.device, cache_, 1, &info, nullptr, &pipeline.handle);
  vk.vkDestroyShaderModule(context_.device, module, nullptr);
  return result;
}

Result<Pipeline> Pipelines::get(std::string_view shader, std::span<const uint32_t> specialization,
                                size_t n_bindings) {
  assert(n_bindings <= kMaxBindings);
  std::string key(shader);
  key.append(1, '\0').append(reinterpret_cast<const char*>(specialization.data()),
                             specialization.size_bytes());
  const std::lock_guard lock(mutex_);
  if (const auto found = pipelines_.find(key); found != pipelines_.end()) return found->second;
  Pipeline pipeline;
  if (const VkResult result = make(shader, specialization, n_bindings, pipeline); result != VK_SUCCESS) {
    return fail(ErrorCode::device_failed,
                "{} ({}): {} while it compiled the shader {}; update the driver or use {}",
                context_.physical.name, context_.physical.properties.deviceName, meaning_of(result), shader,
                set_to(Parameter::device, "cpu"));
  }
  pipelines_.emplace(std::move(key), pipeline);
  return pipeline;
}

}  // namespace parlance::vulkan
