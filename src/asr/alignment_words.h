// The words of a transcript as the forced aligner takes them: one pair of times is asked for each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace parlance {

// Words are what white space separates, with nothing but letters, numbers and apostrophes (') left of them; a
// CJK ideograph is a word by itself. Japanese is also separated where the script changes, as there is no
// dictionary here that would know better. `language` is a name as find_speech_language() yields it, or "".
// What is no UTF-8 separates nothing and is dropped.
std::vector<std::string> alignment_words(std::string_view text, std::string_view language);

}  // namespace parlance
