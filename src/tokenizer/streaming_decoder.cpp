#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode.h"

namespace parlance {

namespace {

enum class Ending { complete, invalid, incomplete };

struct Sequence {
  size_t n_bytes;
  Ending ending;
};

// The sequence that begins the bytes, which are not empty. An invalid one is as long as it could have become
// valid
// ("maximal subpart", Unicode standard section 3.9), so that replacing it loses nothing that follows.
Sequence first_sequence(std::string_view bytes) {
  const auto lead = static_cast<uint8_t>(bytes[0]);
  if (lead < 0x80) return {1, Ending::complete};
  if (lead < 0xC2 || lead > 0xF4) return {1, Ending::invalid};
  const size_t n_bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Second bytes are restricted where others would be overlong, a surrogate, or above U+10FFFF.
  uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < n_bytes; ++i) {
    if (i == bytes.size()) return {i, Ending::incomplete};
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (byte < low || byte > high) return {i, Ending::invalid};
    low = 0x80;
    high = 0xBF;
  }
  return {n_bytes, Ending::complete};
}

}  // namespace

std::string StreamingDecoder::push(std::string_view bytes) {
  pending_ += bytes;
  std::string text;
  size_t at = 0;
  while (at < pending_.size()) {
    const Sequence sequence = first_sequence(std::string_view(pending_).substr(at));
    if (sequence.ending == Ending::incomplete) break;
    if (sequence.ending == Ending::complete) {
      text.append(pending_, at, sequence.n_bytes);
    } else {
      text += kReplacement;
    }
    at += sequence.n_bytes;
  }
  pending_.erase(0, at);
  return text;
}

std::string StreamingDecoder::finish() {
  std::string text(pending_.empty() ? std::string_view() : kReplacement);
  pending_.clear();
  return text;
}

}  // namespace parlance
