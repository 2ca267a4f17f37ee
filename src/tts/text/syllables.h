// How much there is to say in a text, as it is heard.
#pragma once

#include <string_view>

namespace parlance {

// About: groups of vowels in alphabets, each ideograph, kana or syllable of a script that writes these, and
// two for a digit.
int count_syllables(std::string_view text);

}  // namespace parlance
