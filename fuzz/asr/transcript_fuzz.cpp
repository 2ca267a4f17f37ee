// Any bytes as what the speech recogniser's language model wrote: reading them yields valid text, no longer
// than they are with U+FFFD for what is none, and in memory in proportion to them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "allocations.h"
#include "asr/alignment_words.h"
#include "asr/transcript.h"
#include "text/unicode.h"

namespace {

using parlance::fuzz::require;

bool is_text(std::string_view bytes) {
  return parlance::find_invalid_utf8(bytes) == std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  const parlance::fuzz::AllocationLimit limit(64 * size + 65536);

  constexpr size_t kReplacementBytes = 3;  // of U+FFFD, which may stand for one byte
  for (const char* forced : {"", "English"}) {
    const parlance::Transcript transcript = parlance::parse_transcript(raw, forced);
    require(is_text(transcript.language) && is_text(transcript.text), "a transcript is valid UTF-8");
    require(transcript.text.size() <= kReplacementBytes * size, "a transcript does not grow");
    require(*forced == 0 || transcript.language == (transcript.text.empty() ? "" : forced),
            "a forced language stays");
  }
  require(parlance::clean_special_tokens(raw).size() <= size, "cleaning takes away");
  for (const std::string& word : parlance::alignment_words(raw, "Japanese")) {
    require(!word.empty() && is_text(word), "words are text");
  }
  return 0;
}
