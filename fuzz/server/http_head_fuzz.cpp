// Any bytes as the head of a request: judged the same however they come, and never anything but judged.
#include <cstdint>
#include <string_view>

#include "allocations.h"
#include "server/head_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parlance;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const HeadLimits limits{.n_line_bytes = 256, .n_head_bytes = 1024, .n_fields = 8};
  const auto end = end_of_head(bytes);
  if (!end) {
    check_beginning(bytes, limits);
    return 0;
  }
  const std::string_view head = bytes.substr(0, *end);
  const auto refused = check_head(head, limits);
  fuzz::require(refused || head.size() <= limits.n_head_bytes, "heads are no longer than they may be");
  // What is refused while it comes is refused as a whole.
  for (size_t n = 0; n < head.size(); n += 1 + head.size() / 16) {
    fuzz::require(refused || !check_beginning(head.substr(0, n), limits), "a good head begins well");
  }
  return 0;
}
