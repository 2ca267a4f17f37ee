// Any bytes as English text: its spoken form has words only, and memory stays in proportion.
#include <algorithm>
#include <cstdint>
#include <string>

#include "allocations.h"
#include "text/spoken_form.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using parlance::fuzz::require;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const parlance::fuzz::AllocationLimit limit(size * 256 + (size_t{64} << 10));
  const std::string said = parlance::to_say(text);
  const auto is_sayable = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string(" ',.?!:;").find(c) != std::string::npos;
  };
  require(std::ranges::all_of(said, is_sayable), "what is said has letters and marks only");
  require(said.size() <= 32 * size, "words are in proportion to the text");
  const std::string words = parlance::spoken(text);
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || c == '\'' || c == ' '; };
  require(std::ranges::all_of(words, is_word), "words have letters and apostrophes only");
  return 0;
}
