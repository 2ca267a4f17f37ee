// What was heard of an answer that ended early: whole phrases, and of the last one the words that its sound
// had room for.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace parlance {

// Samples are counted in the sound of the whole answer, at any rate.
struct PlayedPhrase {
  std::string text;            // with the white space behind it
  int64_t begin = 0, end = 0;  // of its sound; end does not belong to it
};

// Phrases in order, of which n_heard samples were heard. Words take as long as they have code points; a code
// point of Han, Hiragana, Katakana, Thai, Lao, Khmer or Myanmar is a word of its own. White space at the end
// is dropped.
std::string heard_text(std::span<const PlayedPhrase> phrases, int64_t n_heard);

}  // namespace parlance
