#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

namespace parlance {

namespace {

constexpr char32_t kReplacementCharacter = 0xFFFD, kByteOrderMark = 0xFEFF;

struct Range {
  char32_t first, last;
};

// Characters outside the categories Ll and Lu that Unicode counts as lower and upper case (Other_Lowercase
// and Other_Uppercase of its PropList.txt).
constexpr Range kOtherLower[] = {
    {0xaa, 0xaa},       {0xba, 0xba},       {0x2b0, 0x2b8},     {0x2c0, 0x2c1},     {0x2e0, 0x2e4},
    {0x345, 0x345},     {0x37a, 0x37a},     {0x1d2c, 0x1d6a},   {0x1d78, 0x1d78},   {0x1d9b, 0x1dbf},
    {0x2071, 0x2071},   {0x207f, 0x207f},   {0x2090, 0x209c},   {0x2170, 0x217f},   {0x24d0, 0x24e9},
    {0x2c7c, 0x2c7d},   {0xa69c, 0xa69d},   {0xa770, 0xa770},   {0xa7f8, 0xa7f9},   {0xab5c, 0xab5f},
    {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107b0}, {0x107b2, 0x107ba},
};
constexpr Range kOtherUpper[] = {
    {0x2160, 0x216f}, {0x24b6, 0x24cf}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189},
};

// Digits outside the category Nd: superscripts, subscripts, circled and otherwise adorned ones.
constexpr Range kOtherDigits[] = {
    {0xb2, 0xb3},     {0xb9, 0xb9},       {0x1369, 0x1371},   {0x19da, 0x19da},   {0x2070, 0x2070},
    {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247c},   {0x2488, 0x2490},
    {0x24ea, 0x24ea}, {0x24f5, 0x24fd},   {0x24ff, 0x24ff},   {0x2776, 0x277e},   {0x2780, 0x2788},
    {0x278a, 0x2792}, {0x10a40, 0x10a43}, {0x10e60, 0x10e68}, {0x11052, 0x1105a}, {0x1f100, 0x1f10a},
};

template <size_t N>
bool is_in(const Range (&ranges)[N], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [c](const Range& range) { return range.first <= c && c <= range.last; });
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool has_white_space_property(char32_t c) {
  if (c <= 0x20) return c == 0x20 || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

uint8_t classify(char32_t c) {
  uint8_t bits = has_white_space_property(c) ? kSpace : 0;
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

// Start of the code point that ends at `end`, which is not 0.
size_t previous_start(std::string_view text, size_t end) {
  for (size_t n = 2; n <= 4 && n <= end; ++n) {
    if (utf8_sequence(text, end - n) == n) return end - n;
  }
  return end - 1;
}

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// Where the part of `text` from `begin` to `end` ends that has nothing at its end that is_in_class().
template <class Class>
size_t end_without(std::string_view text, size_t begin, const Class& is_in_class) {
  size_t end = text.size();
  for (size_t at = end; at > begin && is_in_class(previous_code_point(text, at));) end = at;
  return end;
}

template <class Class>
size_t begin_without(std::string_view text, const Class& is_in_class) {
  size_t begin = 0;
  for (size_t at = 0; at < text.size() && is_in_class(next_code_point(text, at));) begin = at;
  return begin;
}

}  // namespace

Utf8Sequence first_utf8_sequence(std::string_view bytes) {
  const auto lead = static_cast<uint8_t>(bytes[0]);
  if (lead < 0x80) return {1, Utf8Ending::complete};
  if (lead < 0xC2 || lead > 0xF4) return {1, Utf8Ending::invalid};
  const size_t n_bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Second bytes are restricted where others would be overlong, a surrogate, or above U+10FFFF.
  uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < n_bytes; ++i) {
    if (i == bytes.size()) return {i, Utf8Ending::incomplete};
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (byte < low || byte > high) return {i, Utf8Ending::invalid};
    low = 0x80;
    high = 0xBF;
  }
  return {n_bytes, Utf8Ending::complete};
}

size_t find_invalid_utf8(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Sequence sequence = first_utf8_sequence(bytes.substr(at));
    if (sequence.ending != Utf8Ending::complete) return at;
    at += sequence.n_bytes;
  }
  return std::string_view::npos;
}

std::string sanitise_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Sequence sequence = first_utf8_sequence(bytes.substr(at));
    text += sequence.ending == Utf8Ending::complete ? bytes.substr(at, sequence.n_bytes) : kReplacement;
    at += sequence.n_bytes;
  }
  return text;
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

char32_t next_code_point(std::string_view text, size_t& at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  if (lead < 0x80) {
    ++at;
    return lead;
  }
  const uint32_t n_bytes = utf8_sequence(text, at);
  const char32_t c = n_bytes == 0 ? kReplacementCharacter : decode_code_point(text, at).value;
  at += n_bytes == 0 ? 1 : n_bytes;
  return c;
}

char32_t previous_code_point(std::string_view text, size_t& at) {
  at = previous_start(text, at);
  size_t end = at;
  return next_code_point(text, end);
}

char32_t last_code_point(std::string_view text) {
  size_t at = text.size();
  return text.empty() ? 0 : previous_code_point(text, at);
}

size_t count_code_points(std::string_view text) {
  size_t n = 0;
  for (size_t at = 0; at < text.size(); ++n) next_code_point(text, at);
  return n;
}

size_t offset_of_code_point(std::string_view text, size_t n) {
  size_t at = 0;
  for (; n > 0 && at < text.size(); --n) next_code_point(text, at);
  return at;
}

size_t start_of_code_point(std::string_view text, size_t at) {
  while (at > 0 && is_continuation(text[at])) --at;
  return at;
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

uint8_t char_class(char32_t c) {
  static const std::array<uint8_t, 128> ascii = [] {
    std::array<uint8_t, 128> table;
    for (size_t i = 0; i < table.size(); ++i) table[i] = classify(static_cast<char32_t>(i));
    return table;
  }();
  return c < ascii.size() ? ascii[c] : classify(c);
}

bool is_white_space(char32_t c) {
  return c == kByteOrderMark || has_white_space_property(c);
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool is_line_break(char32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_printable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c != 0x7f;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_decimal(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t c) {
  return is_decimal(c) || is_in(kOtherDigits, c);
}

bool is_identifier_part(char32_t c) {
  const auto kind = category(c);
  return is_letter(c) || kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL ||
         kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC || kind == UTF8PROC_CATEGORY_PC;
}

bool is_lower(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z';
  return category(c) == UTF8PROC_CATEGORY_LL || is_in(kOtherLower, c);
}

bool is_upper(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z';
  return category(c) == UTF8PROC_CATEGORY_LU || is_in(kOtherUpper, c);
}

bool is_cased(char32_t c) {
  return is_lower(c) || is_upper(c) || category(c) == UTF8PROC_CATEGORY_LT;
}

bool has_cjk(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (is_cjk(next_code_point(text, at))) return true;
  }
  return false;
}

bool can_be_said(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (is_letter(c) || is_number(c)) return true;
  }
  return false;
}

int n_columns(char32_t c) {
  return utf8proc_charwidth(static_cast<utf8proc_int32_t>(c));
}

std::string_view strip_left(std::string_view text) {
  return text.substr(begin_without(text, is_space));
}

std::string_view strip_right(std::string_view text) {
  return text.substr(0, end_without(text, 0, is_space));
}

std::string_view strip(std::string_view text) {
  return strip_left(strip_right(text));
}

std::string_view strip_white_space(std::string_view text) {
  const size_t begin = begin_without(text, is_white_space);
  return text.substr(begin, end_without(text, begin, is_white_space) - begin);
}

std::string_view strip_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

}  // namespace parlance
