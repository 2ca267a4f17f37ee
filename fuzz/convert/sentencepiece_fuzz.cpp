// Any bytes as a tokenizer.model: refused with one line, or pieces in memory in proportion to the bytes.
#include <cstdint>
#include <string_view>

#include "allocations.h"
#include "convert/vocabulary_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parlance;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const fuzz::AllocationLimit limit((size_t{1} << 16) + 200 * size);
  const auto pieces = parse_sentencepiece_model(bytes, "input");
  if (pieces) {
    for (const VocabularyPiece& piece : *pieces) {
      fuzz::require(piece.text.size() <= size, "pieces are of the bytes");
    }
  } else {
    fuzz::require(pieces.error().message.find('\n') == std::string::npos, "messages are one line");
  }
  return 0;
}
