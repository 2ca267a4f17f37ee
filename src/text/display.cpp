#include "text/display.h"

#include "text/unicode.h"

namespace parlance {

std::string printable(std::string_view text, Lines lines) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F, control characters too
      result += ' ';
      ++i;
    } else if (byte == '\t' || (byte == '\n' && lines == Lines::many) || (byte >= 0x20 && byte != 0x7f)) {
      result += text[i];
    } else {
      result += ' ';
    }
  }
  return result;
}

size_t display_width(std::string_view text) {
  return count_code_points(text);
}

std::string shorten(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  return std::string(text.substr(0, offset_of_code_point(text, width - 1))) + "…";
}

}  // namespace parlance
