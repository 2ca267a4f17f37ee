// Any text as an answer, in pieces of any length: what has a sound is said, once and in order.
#include <cstdint>
#include <string>
#include <vector>

#include "allocations.h"
#include "text/unicode.h"
#include "voice/phrase_chunker.h"

namespace {

using namespace parlance;
using parlance::fuzz::require;

// Letters and digits.
std::u32string sounds_of(std::string_view text) {
  std::u32string sounds;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (is_letter(c) || is_number(c)) sounds += c;
  }
  return sounds;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMostBytes = 1024;
  if (size == 0 || size > kMostBytes) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t n_piece = 1 + data[0] % 16;

  PhraseChunker chunker;
  std::u32string said;
  int64_t n_phrases = 0, next_piece = 0;
  const auto take = [&](const Phrase& phrase) {
    require(can_be_said(phrase.text), "a phrase has a sound");
    require(phrase.id == n_phrases++, "phrases are counted");
    require(phrase.first_piece <= phrase.last_piece, "a phrase has pieces");
    require(phrase.first_piece >= next_piece, "pieces are in order");
    next_piece = phrase.last_piece;  // a phrase may end inside one
    said += sounds_of(phrase.text);
  };
  double now_ms = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    for (size_t n = 0; n < n_piece && at < text.size(); ++n) next_code_point(text, at);
    now_ms += data[0];
    for (const Phrase& phrase : chunker.push(std::string_view(text).substr(start, at - start), now_ms))
      take(phrase);
    if (const auto late = chunker.flush_if_late(now_ms + n_piece)) take(*late);
  }
  if (const auto last = chunker.finish()) take(*last);
  require(said == sounds_of(text), "everything is said once");
  return 0;
}
