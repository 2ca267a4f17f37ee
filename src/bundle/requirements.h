// What a bundle may require of the program and the machine that run it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/manifest.h"

namespace parlance {

// A kernel that a manifest can name.
struct OfferedKernel {
  std::string_view manifest;    // "turboquant_q3"
  std::string_view capability;  // its name among the capabilities of a runtime: "turbo3"
  bool is_offered;              // by this program, on the CPU at least
};

// Every kernel that manifests are known to name.
const std::vector<OfferedKernel>& known_kernels();

bool is_offered(std::string_view manifest_name);

// The memory that this process may use: the machine's, or less where a container has a limit; 0: not known.
size_t machine_memory_bytes();

// Whether a bundle may run here. The error names the field, what there is instead, and the remedy.
Result<void> check_requirements(std::string_view name, const Manifest& manifest);
Result<void> check_kernels(std::string_view name, const Manifest& manifest);
Result<void> check_memory(std::string_view name, const Manifest& manifest, size_t memory_bytes);

}  // namespace parlance
