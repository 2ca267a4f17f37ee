// A library that is loaded while the program runs.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace parlance {

class SharedLibrary {
 public:
  // Errors: not_found, when there is no such file; unsupported, when it is no library that can be loaded.
  static Result<SharedLibrary> load(const std::filesystem::path& path);
  ~SharedLibrary();
  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&& other) noexcept;

  // A function by its name; its type is the caller's word. Null: it exports none of that name.
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(look_up(name));
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* look_up(const char* name) const;

  void* handle_;
};

}  // namespace parlance
