// Any bytes as a file of the detector's weights: refused with one line, or loaded, in memory in proportion to
// their number.
#include <cstdint>
#include <cstring>
#include <vector>

#include "allocations.h"
#include "vad/silero_weights.h"
#include "vad/weight_file.h"

namespace {

using namespace parlance;
using parlance::fuzz::require;

void check_line(const std::string& message) {
  require(message.size() < 1000, "messages are short");
  for (const char c : message) require(c >= ' ' && c <= '~', "messages are one line of plain text");
}

// Whole weights are too large for a corpus, so the containers are asked for their tensors themselves.
void check_container(const Result<vad::FileTensors>& tensors) {
  if (!tensors) return check_line(tensors.error().message);
  uint64_t total = 0;
  for (const vad::FileTensor& tensor : *tensors) {
    uint64_t n = row_bytes(tensor.dtype, 1);
    for (const int64_t size : tensor.shape) n *= static_cast<uint64_t>(size);
    require(n == tensor.bytes.size(), "a tensor has the bytes of its shape");
    for (const std::byte b : tensor.bytes)
      total += static_cast<uint64_t>(b);  // a sanitizer sees a wrong view
  }
  volatile uint64_t sink = total;
  (void)sink;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<uint8_t> copy(data, data + size);
  const auto bytes = std::as_bytes(std::span(copy));
  const fuzz::AllocationLimit limit(65536 + 256 * size);  // the tree of a JSON header
  if (vad::is_gguf(bytes)) check_container(vad::read_gguf_tensors(bytes, "input"));
  if (vad::is_whisper_bin(bytes)) check_container(vad::read_whisper_bin_tensors(bytes, "input"));
  if (vad::is_safetensors(bytes)) check_container(vad::read_safetensors(bytes, "input"));
  const Result<SileroWeights> weights = parse_silero_weights(bytes, "input");
  if (!weights) check_line(weights.error().message);
  return 0;
}
