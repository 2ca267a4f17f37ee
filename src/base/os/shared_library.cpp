#include "base/os/shared_library.h"

#include <dlfcn.h>

#include <utility>

#include "base/os/folder.h"

namespace parlance {

Result<SharedLibrary> SharedLibrary::load(const std::filesystem::path& path) {
  if (!is_file(path)) return fail(ErrorCode::not_found, "{}: there is no such file", path.string());
  // Its names are for nobody else, and it is whole or not loaded at all.
  if (void* handle = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL))
    return SharedLibrary(handle);
  const char* why = dlerror();
  return fail(ErrorCode::unsupported, "{} cannot be loaded: {}", path.string(),
              why ? why : "no reason given");
}

SharedLibrary::~SharedLibrary() {
  if (handle_) dlclose(handle_);
}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

SharedLibrary& SharedLibrary::operator=(SharedLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

void* SharedLibrary::look_up(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace parlance
