// The words between the marks of the prompt: those of the reference, if there is one, and those to be spoken.
#pragma once

#include <string>
#include <string_view>

namespace parlance {

// Both texts, a space between them, in one line: line ends fall away, runs of spaces and tabs become one
// space, and no space is left beside a Chinese character. Full-width parentheses become ASCII ones.
std::string combine_texts(std::string_view reference_text, std::string_view text);

// The text, stripped, with a full stop where it ends in no punctuation (a Chinese one if it has any Chinese
// character), so that the model hears where the reference ends. Empty text stays empty.
std::string add_punctuation(std::string_view text);

}  // namespace parlance
