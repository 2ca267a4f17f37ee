// Any bytes as the body that names a slot's file: refused in words, or a file of the folder and of no other.
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "allocations.h"
#include "server/slot_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parlance;
  const auto name = read_slot_file({reinterpret_cast<const char*>(data), size});
  if (!name) {
    fuzz::require(name.error().status == 400 && !name.error().message.empty(), "errors have words");
    return 0;
  }
  const std::filesystem::path path = std::filesystem::path("/folder") / *name;
  fuzz::require(path.lexically_normal() == path && path.parent_path() == "/folder", "it lies in the folder");
  fuzz::require(name->find('\0') == std::string::npos && name->size() < 256, "systems take it");
  return 0;
}
