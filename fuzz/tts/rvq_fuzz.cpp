// Any bytes as codes: refused with one line, or read, and then written as they were. The first byte says how
// many codebooks there are.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "allocations.h"
#include "tts/files/reference_cache.h"
#include "tts/files/rvq_file.h"

namespace {

using namespace parlance;
using parlance::fuzz::require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::vector<uint8_t> copy(data + 1, data + size);
  const auto bytes = std::as_bytes(std::span(copy));
  const fuzz::AllocationLimit limit(65536 + 64 * size);
  const Result<AudioCodes> codes = parse_rvq(bytes, "input", 1 + data[0] % 16);
  if (codes) {
    require(std::ranges::equal(rvq_bytes(*codes), bytes), "codes are written as they were read");
  } else {
    require(codes.error().message.size() < 1000, "messages are short");
  }
  const auto reference = parse_encoded_reference(bytes, {});
  require(!reference || !reference->codes.empty(), "an encoded reference has codes");
  return 0;
}
