#include "text/letter_case.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>

#include "text/special_casing.h"
#include "text/unicode.h"

namespace parlance {

namespace {

// Unicode's Case_Ignorable: what the rule for the final sigma looks past.
bool is_case_ignorable(char32_t c) {
  constexpr char32_t kInsideWords[] = {U'\'',  U'.',   U':',   0xb7,   0x387,  0x55f,  0x5f4,  0x2018, 0x2019,
                                       0x2024, 0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};
  if (std::find(std::begin(kInsideWords), std::end(kInsideWords), c) != std::end(kInsideWords)) return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
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
    const char32_t c = previous_code_point(text, at);
    if (is_case_ignorable(c)) continue;
    behind_letter = is_cased(c);
    break;
  }
  if (!behind_letter) return false;
  for (size_t at = end; at < text.size();) {
    const char32_t c = next_code_point(text, at);
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
    append_utf8(result, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_title(std::string& result, char32_t c) {
  if (const SpecialCasing* special = find_special(c)) {
    result += special->title;
  } else {
    append_utf8(result, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
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
    append_utf8(result, kFinalSigma);
  } else {
    append_utf8(result, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

}  // namespace

std::string upper(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) append_upper(result, next_code_point(text, at));
  return result;
}

std::string lower(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(text, at);
    append_lower(result, c, text, begin, at);
  }
  return result;
}

std::string capitalise(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(text, at);
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
    const char32_t c = next_code_point(text, at);
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
    const char32_t c = next_code_point(text, at);
    if (is_upper(c)) {
      append_lower(result, c, text, begin, at);
    } else if (is_lower(c)) {
      append_upper(result, c);
    } else {
      append_utf8(result, c);
    }
  }
  return result;
}

bool has_only_case(std::string_view text, bool wants_upper) {
  bool has_case = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (!is_cased(c)) continue;
    if (wants_upper ? !is_upper(c) : !is_lower(c)) return false;
    has_case = true;
  }
  return has_case;
}

std::string fold_case(std::string_view text) {
  utf8proc_uint8_t* folded = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_CASEFOLD | UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const utf8proc_ssize_t n = ::utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                            static_cast<utf8proc_ssize_t>(text.size()), &folded, options);
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(folded, std::free);
  return n < 0 ? std::string(text)
               : std::string(reinterpret_cast<const char*>(folded), static_cast<size_t>(n));
}

}  // namespace parlance
