// Any bytes as a file of API keys: an error in words, or keys with names, none of which is kept as it is.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "allocations.h"
#include "server/gate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parlance;
  static const int file = [] {
    const int made = ::memfd_create("keys", 0);
    fuzz::require(::fchmod(made, 0600) == 0, "the file is its owner's alone");
    return made;
  }();
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  fuzz::require(::ftruncate(file, 0) == 0 && ::pwrite(file, data, size, 0) == static_cast<ssize_t>(size),
                "the file is written");
  const auto keys = read_keys(path);
  if (!keys) {
    fuzz::require(!keys.error().message.empty(), "errors have words");
    return 0;
  }
  for (const ApiKey& key : *keys)
    fuzz::require(!key.name.empty() && key.digest.size() == 64,
                  "a key has a name, and a digest in its place");
  return 0;
}
