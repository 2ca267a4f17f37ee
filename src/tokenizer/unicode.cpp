#include "tokenizer/unicode.h"

#include <utf8proc.h>

#include <array>
#include <cstring>

namespace parlance {

namespace {

bool is_white_space(char32_t c) {
  if (c <= 0x20) return c == 0x20 || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

uint8_t classify(char32_t c) {
  uint8_t bits = is_white_space(c) ? kSpace : 0;
  if (c == '\n' || c == '\r') bits |= kNewline;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return bits | kLetter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return bits | kNumber;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return bits | kMark;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return bits | kPunctuation;
    default:
      return bits;
  }
}

}  // namespace

uint8_t char_class(char32_t code_point) {
  static const std::array<uint8_t, 128> ascii = [] {
    std::array<uint8_t, 128> table;
    for (size_t i = 0; i < table.size(); ++i) table[i] = classify(static_cast<char32_t>(i));
    return table;
  }();
  return code_point < ascii.size() ? ascii[code_point] : classify(code_point);
}

void append_utf8(std::string& text, char32_t c) {
  const auto push = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    push(c);
  } else if (c < 0x800) {
    push(0xC0 | c >> 6);
    push(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    push(0xE0 | c >> 12);
    push(0x80 | (c >> 6 & 0x3F));
    push(0x80 | (c & 0x3F));
  } else {
    push(0xF0 | c >> 18);
    push(0x80 | (c >> 12 & 0x3F));
    push(0x80 | (c >> 6 & 0x3F));
    push(0x80 | (c & 0x3F));
  }
}

uint32_t utf8_sequence(std::string_view text, size_t at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;  // continuations, overlong C0 and C1, above U+10FFFF
  const uint32_t n = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() - at < n) return 0;
  for (uint32_t i = 1; i < n; ++i) {
    if ((static_cast<uint8_t>(text[at + i]) & 0xC0) != 0x80) return 0;
  }
  const auto second = static_cast<uint8_t>(text[at + 1]);
  if (lead == 0xE0 && second < 0xA0) return 0;  // overlong
  if (lead == 0xF0 && second < 0x90) return 0;  // overlong
  if (lead == 0xF4 && second > 0x8F) return 0;  // above U+10FFFF
  return n;
}

std::string_view replace_invalid(std::string_view text, std::string& storage) {
  size_t at = 0;
  const auto skip_valid = [&] {
    while (at < text.size()) {
      uint64_t eight;
      if (text.size() - at >= 8) {
        std::memcpy(&eight, text.data() + at, 8);
        if ((eight & 0x8080808080808080) == 0) {
          at += 8;
          continue;
        }
      }
      const uint32_t n = utf8_sequence(text, at);
      if (n == 0) return;
      at += n;
    }
  };
  skip_valid();
  if (at == text.size()) return text;
  storage.clear();
  size_t copied = 0;
  while (at < text.size()) {
    storage.append(text, copied, at - copied);
    storage.append(kReplacement);
    copied = ++at;
    skip_valid();
  }
  storage.append(text, copied);
  return storage;
}

}  // namespace parlance
