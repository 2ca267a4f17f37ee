#include "assistant/cache_folder.h"

#include "base/os/environment.h"

namespace parlance {

namespace fs = std::filesystem;

std::optional<fs::path> cache_folder() {
  if (const fs::path folder = environment("XDG_CACHE_HOME").value_or(""); folder.is_absolute())
    return folder / "parlance";
  if (const fs::path home = environment("HOME").value_or(""); home.is_absolute())
    return home / ".cache" / "parlance";
  return std::nullopt;
}

}  // namespace parlance
