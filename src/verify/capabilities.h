// What checks say of the kernels of elizaOS's contract.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verify/check.h"
#include "verify/kernel_contract.h"

namespace parlance::verify {

// A kernel on one device.
struct KernelState {
  std::string device;
  double max_error = 0;                    // of scores and results
  std::vector<std::string> fixtures = {};  // compared with, all within their tolerances
  std::string_view status = {};  // a word of the contract: "verified", "needs-runtime-smoke", "blocked"
};

struct KernelReport {
  const KernelEntry* entry;
  std::vector<KernelState> devices;  // those that have its score operation

  // On every device that has it.
  bool is_verified() const;
};

std::vector<KernelReport> report_kernels(std::span<const Check> checks);

}  // namespace parlance::verify
