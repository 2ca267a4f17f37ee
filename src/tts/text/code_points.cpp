#include "tts/text/code_points.h"

#include "tokenizer/unicode.h"

namespace parlance {

namespace {

constexpr char32_t kReplacementCharacter = 0xFFFD, kByteOrderMark = 0xFEFF;

// Start of the code point that ends at `end`.
size_t previous_start(std::string_view text, size_t end) {
  for (size_t n = 2; n <= 4 && n <= end; ++n) {
    if (utf8_sequence(text, end - n) == n) return end - n;
  }
  return end - 1;
}

}  // namespace

char32_t next_code_point(std::string_view text, size_t& at) {
  const uint32_t n_bytes = utf8_sequence(text, at);
  const char32_t c = n_bytes == 0 ? kReplacementCharacter : decode_code_point(text, at).value;
  at += n_bytes == 0 ? 1 : n_bytes;
  return c;
}

char32_t last_code_point(std::string_view text) {
  if (text.empty()) return 0;
  size_t at = previous_start(text, text.size());
  return next_code_point(text, at);
}

size_t count_code_points(std::string_view text) {
  size_t n = 0;
  for (size_t at = 0; at < text.size(); ++n) next_code_point(text, at);
  return n;
}

bool has_cjk(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (is_cjk(next_code_point(text, at))) return true;
  }
  return false;
}

bool is_white_space(char32_t c) {
  return c == kByteOrderMark || (char_class(c) & kSpace) != 0;
}

std::string_view strip_white_space(std::string_view text) {
  size_t begin = 0;
  for (size_t next = 0; next < text.size() && is_white_space(next_code_point(text, next));) begin = next;
  size_t end = text.size();
  while (end > begin && is_white_space(last_code_point(text.substr(0, end)))) {
    end = previous_start(text, end);
  }
  return text.substr(begin, end - begin);
}

std::string_view strip_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

}  // namespace parlance
