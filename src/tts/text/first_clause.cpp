#include "tts/text/first_clause.h"

#include <algorithm>

#include "base/ascii.h"
#include "text/unicode.h"
#include "tts/text/chunking.h"
#include "tts/text/duration.h"
#include "tts/text/non_verbal.h"

namespace parlance {

namespace {

constexpr float kLeast = 8, kMost = 45;  // units of text_weight()
constexpr float kLeastRest = 12;         // what follows must be worth a pause
constexpr float kLeastLinked = 20;       // before a word that also joins words, not clauses alone

// Marks that end clauses wherever they stand, and those that do so only before white space.
constexpr std::u32string_view kWideMarks =
    U"\u3002\uFF0C\uFF1B\uFF1A\uFF01\uFF1F\u3001\u2026\u2014\u060C\u061B\u061F\u0964";
constexpr std::u32string_view kNarrowMarks = U".,;:!?";
constexpr std::u32string_view kClauseClosers = U"\"')]\u201C\u201D\u2018\u2019\u00BB\uFF09\u300B\u300D\u3011";

// Beside those at which sentences are not cut.
constexpr std::string_view kMoreAbbreviations[] = {
    "etc.", "Nr.",  "ca.",   "bzw.", "usw.", "vgl.", "evtl.", "ggf.", "inkl.", "Hr.",
    "Str.", "Tel.", "Dipl.", "Ing.", "Bd.",  "Abb.", "Kap.",  "Mio.", "Mrd.",  "Art.",
};

// Words that a clause begins with.
constexpr std::string_view kConjunctions[] = {
    "but",   "because", "although", "though", "while",   "when",  "if",      "unless",  "until",
    "since", "before",  "after",    "which",  "whereas", "where", "aber",    "weil",    "dass",
    "wenn",  "denn",    "sondern",  "obwohl", "sobald",  "damit", "während", "nachdem", "bevor",
};
constexpr std::string_view kLinks[] = {"and", "or", "und", "oder"};
constexpr std::string_view kChineseConjunctions[] = {"但是", "因为", "所以", "如果", "而且", "然后", "虽然"};

// Closing marks that open as well, in other languages or by the same sign.
constexpr std::u32string_view kEitherQuotes = U"\"'\u201C\u2018";

bool is_plain_digit(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 0xFF10 && c <= 0xFF19);  // and full-width ones
}

char32_t code_point_at(std::string_view text, size_t at) {
  return at < text.size() ? next_code_point(text, at) : 0;
}

// Where white space that begins at `at` ends.
size_t skip_white_space(std::string_view text, size_t at) {
  for (size_t next = at; next < text.size() && is_white_space(next_code_point(text, next));) at = next;
  return at;
}

// Bytes of what is taken as a whole: a tag, or a special token that is written out.
size_t tag_bytes(std::string_view text, size_t at) {
  if (text[at] == '[') return non_verbal_tag(text, at);
  if (!text.substr(at).starts_with("<|")) return 0;
  constexpr size_t kLongestToken = 32;
  const size_t end = text.substr(at, kLongestToken).find("|>");
  return end == std::string_view::npos ? 0 : end + 2;
}

// Whether the full stop at the end of the text may stand for something else than the end of a sentence.
bool ends_with_other_stop(std::string_view text) {
  constexpr size_t kLongestWord = 16;
  if (ends_with_abbreviation(text)) return true;
  std::string_view word = text.substr(text.size() - std::min(text.size(), kLongestWord));
  if (const size_t space = word.find_last_of(" \t\r\n("); space != std::string_view::npos) {
    word.remove_prefix(space + 1);
  }
  if (std::ranges::find(kMoreAbbreviations, word) != std::end(kMoreAbbreviations)) return true;
  word.remove_suffix(1);
  if (count_code_points(word) == 1) return true;              // "J. Smith", "z. B.", "1."
  if (word.find('.') != std::string_view::npos) return true;  // "e.g.", "U.S."
  constexpr size_t kOrdinalDigits = 2;                        // "am 24. Dezember"
  return word.size() <= kOrdinalDigits && std::ranges::all_of(word, ascii::is_digit);
}

bool is_mark(char32_t c) {
  return contains(kWideMarks, c) || contains(kNarrowMarks, c) || contains(kClauseClosers, c);
}

// Where the marks end that begin at `at`: those that belong to the clause before.
size_t skip_marks(std::string_view text, size_t at) {
  for (size_t next = at; next < text.size();) {
    const char32_t c = next_code_point(text, next);
    if (!is_mark(c)) break;
    const char32_t follows = code_point_at(text, next);
    if (contains(kEitherQuotes, c) && follows != 0 && !is_white_space(follows) && !is_mark(follows)) break;
    at = next;
  }
  return at;
}

template <size_t N>
bool is_one_of(const std::string_view (&words)[N], std::string_view word) {
  return std::ranges::any_of(words, [&](std::string_view known) {
    return std::ranges::equal(known, word, {}, {}, ascii::to_lower);
  });
}

// Whether a clause begins at `at`, where `weight` units have been spoken.
bool begins_clause(std::string_view text, size_t at, float weight) {
  const std::string_view rest = text.substr(at);
  for (const std::string_view word : kChineseConjunctions) {
    if (rest.starts_with(word)) return true;
  }
  if (!is_white_space(last_code_point(text.substr(0, at)))) return false;
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r\n"));
  return is_one_of(kConjunctions, word) || (weight >= kLeastLinked && is_one_of(kLinks, word));
}

}  // namespace

size_t clause_end(std::string_view text, size_t start, size_t after) {
  const char32_t mark = code_point_at(text, start);
  const bool is_wide = contains(kWideMarks, mark);
  if (!is_wide && !contains(kNarrowMarks, mark)) return 0;
  const bool after_digit = is_plain_digit(last_code_point(text.substr(0, start)));
  const size_t end = skip_marks(text, after);
  const size_t rest = skip_white_space(text, end);
  const char32_t follows = code_point_at(text, rest);
  if (after_digit && is_plain_digit(follows)) return 0;
  if (is_wide) return end;
  if (rest == end) return 0;
  if (mark == '.' && (is_lower(follows) || ends_with_other_stop(text.substr(0, after)))) return 0;
  return end;
}

size_t first_clause(std::string_view text) {
  size_t conjunction = 0;  // end of the clause before the first one
  float weight = 0;
  const float total = text_weight(text);
  for (size_t at = skip_white_space(text, 0); at < text.size();) {
    if (const size_t n_bytes = tag_bytes(text, at)) {
      weight += text_weight(text.substr(at, n_bytes));
      at += n_bytes;
      continue;
    }
    if (conjunction == 0 && weight >= kLeast && begins_clause(text, at, weight)) {
      const size_t end = strip_white_space(text.substr(0, at)).size() + skip_white_space(text, 0);
      if (text_weight(text.substr(0, end)) >= kLeast) conjunction = end;  // white space weighs, too
    }
    const size_t start = at;
    weight += char_weight(next_code_point(text, at));
    if (weight > kMost || total - weight < kLeastRest) break;
    if (weight < kLeast) continue;
    if (const size_t end = clause_end(text, start, at)) return end;
  }
  return conjunction;
}

}  // namespace parlance
