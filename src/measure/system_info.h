// What the operating system says of this machine and of the share of it that this process has.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace parlance {

struct SystemInfo {
  std::string processor;              // "AMD EPYC …"; empty when the system does not say
  std::vector<std::string> features;  // of the processor, those that kernels could use
  int n_usable = 0;                   // processors that this process may run on
  int n_online = 0;
  double processor_quota = 0;  // of a container, in processors; 0: none
  size_t memory_bytes = 0;
  size_t available_bytes = 0;
  size_t memory_limit_bytes = 0;  // of a container; 0: none
  std::string huge_pages;         // "always", "madvise", "never"; empty: not known
};

SystemInfo read_system_info();

// The most memory that this process has held since the last reset, pages of mapped files included; 0: the
// system does not say. The reset yields whether it happened.
bool reset_peak_memory();
size_t peak_memory_bytes();

}  // namespace parlance
