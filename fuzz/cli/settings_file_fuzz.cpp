// Any bytes as a file of settings (--config): an error in words, or values that are lines of it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "allocations.h"
#include "cli/terminal/command_line.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parlance;
  static const int file = ::memfd_create("settings", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  fuzz::require(::ftruncate(file, 0) == 0 && ::pwrite(file, data, size, 0) == static_cast<ssize_t>(size),
                "the file is written");
  const fuzz::AllocationLimit limit(size_t{64} << 20);
  for (const char* name : {"port", "allowed-host"}) {
    const auto values = setting_in_file("serve", path, name);
    fuzz::require(values || !values.error().message.empty(), "errors have words");
    if (!values) continue;
    for (const std::string& value : *values)
      fuzz::require(value.size() <= size, "a value is no longer than the file");
  }
  return 0;
}
