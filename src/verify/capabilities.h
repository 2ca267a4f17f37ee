// What checks say of the kernels of elizaOS's contract.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verify/check.h"
#include "verify/kernel_contract.h"

namespace parlance::verify {

// A kernel on one device, which may be an instruction set of the CPU.
struct KernelState {
  std::string device;
  bool has_run = false;                    // its score operations; else the device lacks them
  double max_error = 0;                    // of scores and results
  std::vector<std::string> fixtures = {};  // compared with, all within their tolerances
  std::string_view status = {};  // a word of the contract: "verified", "needs-runtime-smoke", "blocked"
};

struct KernelReport {
  const KernelEntry* entry;
  std::vector<KernelState> states;  // of all devices that were looked at

  // On a device of report_devices(): on the CPU, with each instruction set that was looked at.
  bool is_verified_on(std::string_view device) const;
};

// `devices` are the labels of those that were looked at: "cpu avx2", "vulkan:0".
std::vector<KernelReport> report_kernels(std::span<const Check> checks, std::span<const std::string> devices);

// The devices that labels stand for, the CPU once for all its instruction sets.
std::vector<std::string> report_devices(std::span<const std::string> labels);

}  // namespace parlance::verify
