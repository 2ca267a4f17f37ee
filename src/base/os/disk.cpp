#include "base/os/disk.h"

#include "base/os/environment.h"

namespace parlance {

std::optional<uint64_t> free_disk_bytes(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  for (fs::path place = absolute_path(path); !place.empty(); place = place.parent_path()) {
    std::error_code error;
    const fs::space_info space = fs::space(place, error);
    if (!error && space.available != static_cast<uintmax_t>(-1)) return space.available;
    if (place == place.root_path()) break;
  }
  return std::nullopt;
}

}  // namespace parlance
