// Any bytes as the name of a model: refused with one line, or a repository and paths that are safe, whose own
// words mean the same again.
#include <cstdint>
#include <string_view>

#include "allocations.h"
#include "hub/local_model.h"
#include "hub/patience.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parlance;
  using fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const fuzz::AllocationLimit limit((size_t{1} << 16) + 100 * size);
  const std::string_view endpoint = "https://mirror.example/hub";
  retry_after(text, std::chrono::sys_seconds());
  const auto name = parse_model_name(text, endpoint);
  if (!name) {
    require(name.error().message.find('\n') == std::string::npos, "messages are one line");
    return 0;
  }
  if (name->repo.empty()) {
    const auto place = place_of_address(name->url, {.own_cache = "/cache"});
    require(!place || place->string().starts_with("/cache/models/"), "files stay in the folder");
    return 0;
  }
  require(is_safe_path(name->repo) && is_safe_path(name->revision), "repositories can be paths");
  require(name->file.empty() || is_safe_path(name->file), "files can be paths");
  require(escaped_path(name->file).find_first_of(" ?#%\"") == std::string::npos ||
              escaped_path(name->file).find('%') != std::string::npos,
          "paths can be in an address");
  const auto again = parse_model_name(name->text(), endpoint);
  require(again && again->text() == name->text() && again->revision == name->revision &&
              again->file == name->file && again->tag == name->tag,
          "a name means the same again");
  return 0;
}
