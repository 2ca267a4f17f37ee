// Names that clients give: whatever they are, no file but one of the folder comes of them, and none of
// anybody else's.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "allocations.h"
#include "assistant/conversation_files.h"

namespace {

bool is_in_folder(const std::string& name) {
  const std::filesystem::path path = std::filesystem::path("/folder") / name;
  return !name.empty() && path.lexically_normal() == path && path.parent_path() == "/folder" &&
         name.find('\0') == std::string::npos && name.size() < 256;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parlance;
  using fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t middle = size / 2;
  for (const std::string& stem :
       {conversation_stem(text), conversation_stem(text.substr(0, middle), text.substr(middle))}) {
    for (const Lifetime lifetime : {Lifetime::brief, Lifetime::lasting, Lifetime::extended}) {
      const std::string name = kept_file_name(stem, lifetime);
      require(is_in_folder(name), "a conversation's file lies in the folder");
      require(lifetime_of_file(name) == lifetime, "its name says how long it is kept");
    }
  }
  require(conversation_stem(text) == text || conversation_stem(text).size() == 33, "a name or a hash");
  if (check_file_name(text)) require(is_in_folder(std::string(text)), "a name is no path");
  (void)lifetime_of_file(text);
  return 0;
}
