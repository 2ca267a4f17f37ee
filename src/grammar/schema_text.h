// Automata over code points for the strings of JSON schemas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/automaton.h"

namespace parlance {

// Texts of `least` to `most` (or kNoLimit) code points.
Dfa texts_of_length(uint32_t least, uint32_t most);

// All texts but these.
Dfa texts_other_than(const std::vector<std::string>& texts);

// Whether the automaton accepts a text in UTF-8.
bool accepts_text(const Dfa& dfa, std::string_view text);

// The regular expression of a format that is checked ("date", "uuid", …); none for those that only say what a
// text means.
std::optional<std::string_view> expression_of_format(std::string_view format);

}  // namespace parlance
