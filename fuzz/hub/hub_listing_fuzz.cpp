// Any bytes as a hub's answers: refused with one line, or files whose names stay below a folder and whose
// checksums can name files; what is chosen of them is among them.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "allocations.h"
#include "hub/choose.h"
#include "hub/listing.h"

namespace {

using namespace parlance;
using fuzz::require;

void check_message(const Error& error) {
  require(error.message.size() < 30000, "messages are bounded");
  require(std::ranges::none_of(error.message, [](char c) { return c == '\n' || c == '\0'; }),
          "messages are one line");
}

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const fuzz::AllocationLimit limit((size_t{1} << 20) + 2000 * size);
  if (const auto commit = parse_commit(text)) {
    require(commit->size() == 40 && is_hexadecimal(*commit), "commits are commits");
  } else {
    check_message(commit.error());
  }
  const std::string page = next_page(text);
  require(page.empty() || page.front() == '/', "pages are of this hub");
  const auto files = parse_tree(text);
  if (!files) {
    check_message(files.error());
    return 0;
  }
  std::vector<std::string> paths;
  for (const HubFile& file : *files) {
    require(is_safe_path(file.path), "paths stay in the folder");
    require((file.digest.size() == 40 || file.digest.size() == 64) && is_hexadecimal(file.digest),
            "checksums are whole");
    paths.push_back(file.path);
  }
  for (const char* tag : {"", "Q8_0"}) {
    const auto chosen = choose_files({.repo = "a/b", .tag = tag}, paths);
    if (!chosen) {
      check_message(chosen.error());
      continue;
    }
    require(!chosen->paths.empty(), "what is chosen is something");
    for (const std::string& path : chosen->paths) {
      require(std::ranges::find(paths, path) != paths.end(), "what is chosen is there");
    }
  }
  return 0;
}
