// What a host has to know of a kernel's text: how the shader's specialization constants came through the
// translation, and how many threads a threadgroup has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace parlance::metal {

struct FunctionConstant {
  uint32_t index = 0;
  bool is_bool = false;  // one byte for Metal; the others are of four
};

struct KernelText {
  std::string_view source;
  std::vector<uint32_t> macros;              // constants that size arrays: SPIRV_CROSS_CONSTANT_ID_<i>
  std::vector<FunctionConstant> constants;   // the others, and some of these
  uint32_t n_threads = 0;                    // of a threadgroup; 0: as the next says
  std::optional<uint32_t> threads_constant;  // the constant that is their number

  // 0: the values lack the constant.
  uint32_t threads_with(std::span<const uint32_t> values) const;
};

// Nothing where the text does not say how many threads a threadgroup has.
std::optional<KernelText> read_kernel_text(std::string_view source);

// The text of a shader, by the name that dispatch() has; empty: there is none.
std::string_view find_source(std::string_view name);

}  // namespace parlance::metal
