// A profile of the library as loaders have it: opened by its path, functions looked up by name.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace parlance::test {

struct ProfilePath {
  const char* abi;
  const char* path;  // set by the build
};
inline constexpr ProfilePath kProfiles[] = {
    {"3", PARLANCE_LIBRARY_3}, {"4", PARLANCE_LIBRARY_4}, {"12", PARLANCE_LIBRARY_12}};

class ProfileLibrary {
 public:
  explicit ProfileLibrary(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~ProfileLibrary() {
    if (handle_) dlclose(handle_);
  }
  ProfileLibrary(const ProfileLibrary&) = delete;
  ProfileLibrary& operator=(const ProfileLibrary&) = delete;

  bool has(const std::string& name) const { return dlsym(handle_, name.c_str()) != nullptr; }
  // Declared like a function of the header.
  template <class Function>
  Function* get(const char* name) const {
    void* found = dlsym(handle_, name);
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<Function*>(found);
  }

 private:
  void* handle_;
};

// of<eliza_inference_create>(library) is that function of the library.
#define PARLANCE_OF(library, function) (library).get<decltype(function)>(#function)

}  // namespace parlance::test
