#include "kernels/metal/host/kernel_text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>

namespace parlance::metal {

namespace {

std::optional<uint32_t> number_at(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

// What stands between the first `before` and the next `after`; empty where they do not.
std::string_view between(std::string_view line, std::string_view before, std::string_view after) {
  const size_t at = line.find(before);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + before.size());
  return line.substr(0, std::min(line.find(after), line.size()));
}

}  // namespace

uint32_t KernelText::threads_with(std::span<const uint32_t> values) const {
  if (!threads_constant) return n_threads;
  return *threads_constant < values.size() ? values[*threads_constant] : 0;
}

std::optional<KernelText> read_kernel_text(std::string_view source) {
  constexpr std::string_view kMacro = "#define SPIRV_CROSS_CONSTANT_ID_", kConstant = "constant ",
                             kFunction = "[[function_constant(", kGroup = "constant uint3 gl_WorkGroupSize ";
  KernelText text;
  text.source = source;
  std::map<std::string_view, uint32_t> indices;  // of function constants, by their names
  bool has_group = false;
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find('\n', at), source.size());
    const std::string_view line = source.substr(at, end - at);
    at = end + 1;
    if (line.starts_with(kMacro)) {
      if (const auto index = number_at(line.substr(kMacro.size()))) text.macros.push_back(*index);
    } else if (line.starts_with(kGroup)) {
      const std::string_view threads = between(line, "uint3(", ",");
      if (const auto number = number_at(threads)) {
        text.n_threads = *number;
        has_group = *number > 0;
      } else if (const auto found = indices.find(threads); found != indices.end()) {
        text.threads_constant = found->second;
        has_group = true;
      }
    } else if (line.starts_with(kConstant)) {
      const auto index = number_at(between(line, kFunction, ")"));
      if (!index) continue;
      const bool is_bool = line.substr(kConstant.size()).starts_with("bool ");
      text.constants.push_back({*index, is_bool});
      indices[between(line.substr(kConstant.size()), " ", "_tmp ")] = *index;
    }
  }
  if (!has_group) return std::nullopt;
  return text;
}

}  // namespace parlance::metal
