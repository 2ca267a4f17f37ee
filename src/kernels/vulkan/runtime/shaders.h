// The SPIR-V modules that the build made of the .comp files (cmake/ParlanceShaders.cmake).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace parlance::vulkan {

// The module of `name`.comp; empty when there is none.
std::span<const uint32_t> find_shader(std::string_view name);

}  // namespace parlance::vulkan
