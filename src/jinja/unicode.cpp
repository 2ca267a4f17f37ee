#include "jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "jinja/special_casing.h"

namespace parlance::jinja {

namespace {

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

bool is_cased(char32_t c) {
  return is_lower(c) || is_upper(c) || category(c) == UTF8PROC_CATEGORY_LT;
}

// Unicode's Case_Ignorable: what the rule for the final sigma looks past.
bool is_case_ignorable(char32_t c) {
  constexpr char32_t kInsideWords[] = {U'\'',  U'.',   U':',   0xb7,   0x387,  0x55f,  0x5f4,  0x2018, 0x2019,
                                       0x2024, 0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};
  if (std::find(std::begin(kInsideWords), std::end(kInsideWords), c) != std::end(kInsideWords)) return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return false;
  }
}

// Whether the sigma in text[begin, end) ends a word: then its lower case is the final form.
bool is_final_sigma(std::string_view text, size_t begin, size_t end) {
  bool behind_letter = false;
  for (size_t at = begin; at > 0;) {
    const char32_t c = previous_character(text, at);
    if (is_case_ignorable(c)) continue;
    behind_letter = is_cased(c);
    break;
  }
  if (!behind_letter) return false;
  for (size_t at = end; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (is_case_ignorable(c)) continue;
    return !is_cased(c);
  }
  return true;
}

const SpecialCasing* find_special(char32_t c) {
  const auto at =
      std::lower_bound(std::begin(kSpecialCasing), std::end(kSpecialCasing), c,
                       [](const SpecialCasing& row, char32_t wanted) { return row.character < wanted; });
  return at != std::end(kSpecialCasing) && at->character == c ? at : nullptr;
}

void append_upper(std::string& result, char32_t c) {
  if (c < 0x80) {
    result += static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  } else if (const SpecialCasing* special = find_special(c)) {
    result += special->upper;
  } else {
    append_character(result, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_title(std::string& result, char32_t c) {
  if (const SpecialCasing* special = find_special(c)) {
    result += special->title;
  } else {
    append_character(result, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
  }
}

// Lower case of the character c, which is text[begin, end).
void append_lower(std::string& result, char32_t c, std::string_view text, size_t begin, size_t end) {
  constexpr char32_t kCapitalSigma = 0x3a3, kFinalSigma = 0x3c2, kCapitalIWithDot = 0x130;
  if (c < 0x80) {
    result += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  } else if (c == kCapitalIWithDot) {
    result += "i\xcc\x87";
  } else if (c == kCapitalSigma && is_final_sigma(text, begin, end)) {
    append_character(result, kFinalSigma);
  } else {
    append_character(result, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// Length of the valid sequence at the start of `bytes`, or 0; `bad` is then how many bytes to give up.
size_t sequence_length(std::string_view bytes, size_t& bad) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  bad = 1;
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                        : lead >= 0xe0 && lead <= 0xef ? 3
                        : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                       : 0;
  if (length == 0) return 0;
  // The second byte excludes overlong forms, surrogates and what lies beyond U+10FFFF.
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < length; ++i) {
    if (i >= bytes.size() || byte(i) < (i == 1 ? low : 0x80) || byte(i) > (i == 1 ? high : 0xbf)) {
      bad = i;
      return 0;
    }
  }
  return length;
}

}  // namespace

size_t find_invalid_utf8(std::string_view bytes) {
  for (size_t at = 0, bad; at < bytes.size();) {
    const size_t length = sequence_length(bytes.substr(at), bad);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string sanitise_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (size_t at = 0, bad; at < bytes.size();) {
    const size_t length = sequence_length(bytes.substr(at), bad);
    if (length > 0) {
      text.append(bytes.substr(at, length));
      at += length;
    } else {
      append_character(text, 0xfffd);
      at += bad;
    }
  }
  return text;
}

char32_t next_character(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at++);
  if (lead < 0x80) return lead;
  char32_t character = lead & (lead >= 0xf0 ? 0x07 : lead >= 0xe0 ? 0x0f : 0x1f);
  while (at < text.size() && is_continuation(text[at])) character = character << 6 | (byte(at++) & 0x3f);
  return character;
}

char32_t previous_character(std::string_view text, size_t& at) {
  at = start_of_character(text, at - 1);
  size_t end = at;
  return next_character(text, end);
}

void append_character(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

size_t count_characters(std::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), is_continuation));
}

size_t offset_of_character(std::string_view text, size_t n) {
  size_t at = 0;
  while (n > 0 && at < text.size()) {
    ++at;
    while (at < text.size() && is_continuation(text[at])) ++at;
    --n;
  }
  return at;
}

size_t start_of_character(std::string_view text, size_t at) {
  while (at > 0 && is_continuation(text[at])) --at;
  return at;
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

bool is_letter(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t c) {
  return is_decimal(c) || is_in(kOtherDigits, c);
}

bool is_number(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
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

std::string upper(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) append_upper(result, next_character(text, at));
  return result;
}

std::string lower(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_character(text, at);
    append_lower(result, c, text, begin, at);
  }
  return result;
}

std::string capitalise(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_character(text, at);
    if (begin == 0) {
      append_title(result, c);
    } else {
      append_lower(result, c, text, begin, at);
    }
  }
  return result;
}

std::string title(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool inside_word = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_character(text, at);
    if (inside_word) {
      append_lower(result, c, text, begin, at);
    } else {
      append_title(result, c);
    }
    inside_word = is_cased(c);
  }
  return result;
}

std::string swap_case(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_character(text, at);
    if (is_upper(c)) {
      append_lower(result, c, text, begin, at);
    } else if (is_lower(c)) {
      append_upper(result, c);
    } else {
      append_character(result, c);
    }
  }
  return result;
}

bool has_only_case(std::string_view text, bool wants_upper) {
  bool has_case = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (!is_cased(c)) continue;
    if (wants_upper ? !is_upper(c) : !is_lower(c)) return false;
    has_case = true;
  }
  return has_case;
}

std::string_view strip_left(std::string_view text) {
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); begin = at) {
    if (!is_space(next_character(text, at))) break;
  }
  return text.substr(begin);
}

std::string_view strip_right(std::string_view text) {
  size_t end = text.size();
  for (size_t at = end; at > 0; end = at) {
    if (!is_space(previous_character(text, at))) break;
  }
  return text.substr(0, end);
}

std::string_view strip(std::string_view text) {
  return strip_left(strip_right(text));
}

}  // namespace parlance::jinja
