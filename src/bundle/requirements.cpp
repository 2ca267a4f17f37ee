#include "bundle/requirements.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>

#include "base/os/memory.h"
#include "verify/kernel_contract.h"

namespace parlance {

const std::vector<OfferedKernel>& known_kernels() {
  static const std::vector<OfferedKernel> kernels = [] {
    std::vector<OfferedKernel> list;
    for (const verify::KernelEntry& entry : verify::kContractKernels) {
      list.push_back({entry.manifest, entry.capability, true});
    }
    // Drafting is no operation on caches: `parlance verify` has nothing to check there. Heads that predict
    // further tokens are not read.
    list.push_back({"dflash", "dflash", true});
    list.push_back({"mtp", "mtp", false});
    return list;
  }();
  return kernels;
}

bool is_offered(std::string_view manifest_name) {
  return std::ranges::any_of(known_kernels(), [&](const OfferedKernel& kernel) {
    return kernel.manifest == manifest_name && kernel.is_offered;
  });
}

size_t machine_memory_bytes() {
  size_t bytes = machine_memory().total;
  std::ifstream file("/sys/fs/cgroup/memory.max");  // "max" where there is no limit
  size_t limit = 0;
  if (file >> limit && limit > 0 && (bytes == 0 || limit < bytes)) bytes = limit;
  return bytes;
}

Result<void> check_kernels(std::string_view name, const Manifest& manifest) {
  for (const std::string& kernel : manifest.required_kernels) {
    if (is_offered(kernel)) continue;
    std::vector<std::string_view> offered;
    for (const OfferedKernel& known : known_kernels()) {
      if (known.is_offered) offered.push_back(known.manifest);
    }
    std::string shown = kernel.substr(0, 40);
    std::ranges::replace_if(
        shown, [](char c) { return c < ' ' || c > '~'; }, '?');
    return fail(ErrorCode::unsupported,
                "{}: kernels.required: this program has no kernel {}, only {}; use a newer version of it, "
                "or a bundle that does not require {}",
                name, shown, fmt::join(offered, ", "), shown);
  }
  return {};
}

Result<void> check_memory(std::string_view name, const Manifest& manifest, size_t memory_bytes) {
  constexpr size_t kMegabyte = size_t{1} << 20;
  const auto needed = static_cast<size_t>(manifest.ram_min_mb);
  if (memory_bytes == 0 || memory_bytes / kMegabyte >= needed) return {};
  return fail(ErrorCode::out_of_memory,
              "{}: ramBudgetMb.min: the bundle needs {} MB of memory, this machine has {}; use a bundle of a "
              "smaller tier",
              name, needed, memory_bytes / kMegabyte);
}

Result<void> check_requirements(std::string_view name, const Manifest& manifest) {
  PARLANCE_CHECK(check_kernels(name, manifest));
  return check_memory(name, manifest, machine_memory_bytes());
}

}  // namespace parlance
