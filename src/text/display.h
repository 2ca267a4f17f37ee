// Text as people see it: on a terminal, in a picture, in a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace parlance {

// The text with control characters replaced by spaces, so that words from a file or a model cannot steer a
// terminal. Tabs stay; newlines stay only in running text.
enum class Lines { one, many };
std::string printable(std::string_view text, Lines lines = Lines::one);

// Columns that a text takes on a terminal: its code points.
size_t display_width(std::string_view text);

// The text, cut to at most `width` columns with "…" at the end when it is longer.
std::string shorten(std::string_view text, size_t width);

}  // namespace parlance
