#include "base/os/environment.h"

#include <cstdlib>
#include <system_error>

namespace parlance {

namespace fs = std::filesystem;

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

fs::path program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

fs::path absolute_path(const fs::path& path) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error);
  whole = (error ? path : whole).lexically_normal();
  return whole.has_filename() || whole == whole.root_path() ? whole : whole.parent_path();
}

}  // namespace parlance
