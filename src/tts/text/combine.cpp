#include "tts/text/combine.h"

#include "text/unicode.h"

namespace parlance {

namespace {

constexpr char32_t kLeftParenthesis = 0xFF08, kRightParenthesis = 0xFF09;  // full width
constexpr std::string_view kChineseFullStop = "\u3002";

// Marks after which a text needs no full stop.
constexpr std::u32string_view kEndMarks =
    U";:,.!?)]}\"'\u2026\u201C\u201D\u2018\u2019\uFF1B\uFF1A\uFF0C\u3002\uFF01\uFF1F\u3001\uFF09\u3011";

}  // namespace

std::string combine_texts(std::string_view reference_text, std::string_view text) {
  const std::string_view reference = strip_blanks(reference_text), words = strip_blanks(text);
  std::string joined(reference);
  if (!joined.empty()) joined += ' ';
  joined += words;

  std::string combined;
  combined.reserve(joined.size());
  bool space_waits = false;  // written only when what follows may have one before it
  bool after_cjk = false;
  for (size_t at = 0; at < joined.size();) {
    const size_t start = at;
    const char32_t c = next_code_point(joined, at);
    if (c == '\r' || c == '\n') continue;
    if (c == ' ' || c == '\t') {
      space_waits = true;
      continue;
    }
    if (space_waits && !after_cjk && !is_cjk(c)) combined += ' ';
    space_waits = false;
    after_cjk = is_cjk(c);
    if (c == kLeftParenthesis || c == kRightParenthesis) {
      combined += c == kLeftParenthesis ? '(' : ')';
    } else {
      combined.append(joined, start, at - start);
    }
  }
  if (space_waits && !after_cjk) combined += ' ';
  return combined;
}

std::string add_punctuation(std::string_view text) {
  std::string sentence(strip_white_space(text));
  if (sentence.empty() || kEndMarks.find(last_code_point(sentence)) != std::u32string_view::npos) {
    return sentence;
  }
  return has_cjk(sentence) ? sentence.append(kChineseFullStop) : sentence.append(".");
}

}  // namespace parlance
