// Any bytes as the file of a probe: refused with one line, or a probe whose parts fit together and that is written as
// the same bytes again. The checksum stops nearly all mutations, so each input is tried again with the right one.
#include <cstdint>
#include <cstring>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "allocations.h"
#include "kv/cache_probe.h"

namespace {

using namespace parlance;
using parlance::fuzz::require;

const ModelHash kModel{std::byte{7}};

void check(std::span<const std::byte> bytes) {
  const auto probe = parse_probe(bytes, "input", kModel);
  if (!probe) {
    for (const char c : probe.error().message) require(c >= ' ' && c <= '~', "messages are one line of plain text");
    return;
  }
  const auto n_losses = static_cast<size_t>(probe->n_layer * probe->n_head_kv) * probe->formats.size();
  require(probe->plain.size() == n_losses && probe->equalised.size() == n_losses, "every head has its losses");
  require(std::ssize(probe->equaliser.layers) == probe->n_layer, "every layer has an equaliser");
  const auto again = bytes_of(*probe, kModel);
  require(again.size() == bytes.size() && std::memcmp(again.data(), bytes.data(), bytes.size()) == 0,
          "it is written as it was read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  check(bytes);
  uint64_t checksum = 0;
  if (size < sizeof checksum) return 0;
  checksum = XXH3_64bits(bytes.data(), size - sizeof checksum);
  std::memcpy(bytes.data() + size - sizeof checksum, &checksum, sizeof checksum);
  check(bytes);
  return 0;
}
