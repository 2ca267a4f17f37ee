#include "text/spoken_form.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/ascii.h"
#include "text/folded_text.h"
#include "text/number_words.h"

namespace parlance {

namespace {

using namespace std::string_view_literals;

// What stands around a token, in the words of the page.
struct Surroundings {
  std::string_view previous = {}, following = {};  // tokens; empty where punctuation or the text's end is
  bool starts = false;                             // a sentence
  bool is_closed = true;                           // punctuation follows
};

struct Unit {
  std::string_view name, one, many;
};
// Read as units after a number in digits. `lb` and `s` have to be in lower case when they stand alone.
constexpr std::array kUnits = {Unit{"km", "kilometer", "kilometers"},
                               Unit{"m", "meter", "meters"},
                               Unit{"cm", "centimeter", "centimeters"},
                               Unit{"mm", "millimeter", "millimeters"},
                               Unit{"kg", "kilogram", "kilograms"},
                               Unit{"g", "gram", "grams"},
                               Unit{"mg", "milligram", "milligrams"},
                               Unit{"l", "liter", "liters"},
                               Unit{"ml", "milliliter", "milliliters"},
                               Unit{"lb", "pound", "pounds"},
                               Unit{"lbs", "pound", "pounds"},
                               Unit{"oz", "ounce", "ounces"},
                               Unit{"ft", "foot", "feet"},
                               Unit{"yd", "yard", "yards"},
                               Unit{"mi", "mile", "miles"},
                               Unit{"mph", "mile per hour", "miles per hour"},
                               Unit{"h", "hour", "hours"},
                               Unit{"hr", "hour", "hours"},
                               Unit{"hrs", "hour", "hours"},
                               Unit{"min", "minute", "minutes"},
                               Unit{"sec", "second", "seconds"},
                               Unit{"s", "second", "seconds"},
                               Unit{"%", "percent", "percent"},
                               Unit{"\xB0", "degree", "degrees"},
                               Unit{"\xB0"
                                    "c",
                                    "degree celsius", "degrees celsius"},
                               Unit{"\xB0"
                                    "f",
                                    "degree fahrenheit", "degrees fahrenheit"}};

struct Replacement {
  std::string_view text, words;
};
constexpr std::array kSymbols = {Replacement{"+", "plus"},          Replacement{"*", "times"},
                                 Replacement{"\xD7", "times"},      Replacement{"/", "divided by"},
                                 Replacement{"\xF7", "divided by"}, Replacement{"=", "equals"},
                                 Replacement{"&", "and"},           Replacement{"@", "at"},
                                 Replacement{"%", "percent"},       Replacement{"\xB0", "degrees"}};
constexpr std::array kAbbreviations = {Replacement{"mr", "mister"}, Replacement{"mrs", "missus"},
                                       Replacement{"ms", "miss"},   Replacement{"dr", "doctor"},
                                       Replacement{"vs", "versus"}, Replacement{"etc", "et cetera"},
                                       Replacement{"ok", "okay"}};
constexpr std::array kTitles = {"mr"sv, "mrs"sv, "ms"sv, "dr"sv, "vs"sv};  // whose full stop ends no sentence
constexpr std::array kChemical = {"He"sv, "Ne"sv, "Na"sv, "Mg"sv, "Al"sv, "Si"sv, "Cl"sv, "Ar"sv,
                                  "Ca"sv, "Ti"sv, "Cr"sv, "Fe"sv, "Ni"sv, "Cu"sv, "Zn"sv, "Ag"sv,
                                  "Sn"sv, "Pt"sv, "Au"sv, "Hg"sv, "Pb"sv, "Li"sv};
constexpr std::array kVowellessWords = {"hmm"sv, "mm"sv, "shh"sv, "psst"sv, "brr"sv};

bool is_one_of(const auto& table, std::string_view word) {
  return std::ranges::find(table, word) != table.end();
}

std::string_view words_for(const auto& table, std::string_view text) {
  const auto row = std::ranges::find(table, text, &Replacement::text);
  return row == table.end() ? std::string_view() : row->words;
}

const Unit* find_unit(std::string_view name) {
  const auto row = std::ranges::find(kUnits, name, &Unit::name);
  return row == kUnits.end() ? nullptr : &*row;
}

bool has_digit(std::string_view text) {
  return std::ranges::any_of(text, ascii::is_digit);
}
bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, ascii::is_digit);
}
bool all_letters(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, ascii::is_letter);
}
bool ends_in_digit(std::string_view text) {
  return !text.empty() && ascii::is_digit(text.back());
}

// The first run of digits from `at` on.
std::string_view digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && ascii::is_digit(text[end])) ++end;
  return text.substr(at, end - at);
}

void append_words(std::string& out, std::string_view words) {
  if (words.empty()) return;
  if (!out.empty()) out += ' ';
  out += words;
}

std::string without(std::string_view text, char unwanted) {
  std::string kept(text);
  std::erase(kept, unwanted);
  return kept;
}

// The parts between separators that are not empty.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// "pm" -> "P M".
std::string letter_names(std::string_view word) {
  std::string out;
  for (const char c : word) append_words(out, std::string(1, ascii::to_upper(c)));
  return out;
}

bool is_half_of_day(std::string_view token) {
  std::string half = ascii::lower(token);
  constexpr std::string_view kMarks = ".,?!:;";
  while (!half.empty() && kMarks.find(half.back()) != kMarks.npos) half.pop_back();
  half.erase(0, std::min(half.find_first_not_of(kMarks), half.size()));
  return half == "am" || half == "pm" || half == "a.m" || half == "p.m";
}

// "15:40", "3:05pm".
std::optional<std::string> clock(std::string_view token, std::string_view following) {
  const std::string_view hour = digits_at(token, 0);
  if (hour.empty() || hour.size() > 2 || token.substr(hour.size(), 1) != ":") return std::nullopt;
  const std::string_view minute = digits_at(token, hour.size() + 1);
  if (minute.size() != 2) return std::nullopt;
  const std::string half = ascii::lower(token.substr(hour.size() + 3));
  if (!half.empty() && half != "am" && half != "pm") return std::nullopt;
  const int h = value_of(hour), m = value_of(minute);
  std::string words = cardinal(h);
  if (m > 0) {
    words += (m < 10 ? " oh " : " ") + cardinal(m);
  } else if (half.empty() && !is_half_of_day(following)) {
    words += h >= 1 && h <= 12 ? " o'clock" : " hundred";
  }
  append_words(words, letter_names(half));
  return words;
}

// "555-0134".
bool is_digit_groups(std::string_view token) {
  if (token.find('-') == token.npos || token.front() == '-' || token.back() == '-') return false;
  if (token.find("--") != token.npos) return false;
  return std::ranges::all_of(token, [](char c) { return ascii::is_digit(c) || c == '-'; });
}

// "21st".
std::optional<std::string> ordinal_token(std::string_view token) {
  const std::string_view digits = digits_at(token, 0);
  const std::string ending = ascii::lower(token.substr(digits.size()));
  if (digits.empty() || !is_one_of(std::array{"st"sv, "nd"sv, "rd"sv, "th"sv}, ending)) return std::nullopt;
  const std::string_view counted = digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
  if (counted.size() > 3) return std::nullopt;
  return ordinal(value_of(counted));
}

// "$3.50".
std::optional<std::string> money(std::string_view token) {
  const Unit currency = token.front() == '$'      ? Unit{"$", "dollar", "dollars"}
                        : token.front() == kEuro  ? Unit{"\x80", "euro", "euros"}
                        : token.front() == kPound ? Unit{"\xA3", "pound", "pounds"}
                                                  : Unit{};
  if (currency.name.empty()) return std::nullopt;
  const std::string amount = without(token.substr(1), ',');
  const size_t point = std::min(amount.find('.'), amount.size());
  const std::string_view whole = std::string_view(amount).substr(0, point);
  const std::string_view cents = std::string_view(amount).substr(std::min(point + 1, amount.size()));
  if (!all_digits(whole) || (!cents.empty() && !all_digits(cents))) return std::nullopt;
  std::string words = number_words(whole);
  append_words(words, whole == "1" ? currency.one : currency.many);
  const std::string_view counted = cents.substr(std::min(cents.find_first_not_of('0'), cents.size()));
  if (!cents.empty() && counted.size() <= 2) words += " and " + cardinal(value_of(counted)) + " cents";
  return words;
}

// A number with sign, thousands, decimals and what is written right behind it: "-1,234.5km".
struct WrittenNumber {
  bool is_negative = false, is_grouped = false;
  std::string digits;
  std::string_view decimals, rest;
};

std::optional<WrittenNumber> parse_number_token(std::string_view token) {
  WrittenNumber number;
  number.is_negative = token.starts_with('-');
  if (number.is_negative) token.remove_prefix(1);
  const std::string_view first = digits_at(token, 0);
  if (first.empty()) return std::nullopt;
  number.digits = first;
  size_t at = first.size();
  while (first.size() <= 3 && token.substr(at, 1) == "," && digits_at(token, at + 1).size() == 3) {
    number.digits += token.substr(at + 1, 3);
    number.is_grouped = true;
    at += 4;
  }
  if (token.substr(at, 1) == ".") {
    number.decimals = digits_at(token, at + 1);
    if (number.decimals.empty()) return std::nullopt;
    at += 1 + number.decimals.size();
  }
  number.rest = token.substr(at);
  if (number.rest.starts_with('.') || number.rest.starts_with(',')) return std::nullopt;
  return number;
}

std::optional<std::string> words_of(const WrittenNumber& number) {
  const size_t zeros = std::min(number.digits.find_first_not_of('0'), number.digits.size());
  const std::string_view counted = std::string_view(number.digits).substr(zeros);
  std::string words = number.is_negative ? "minus " : "";
  words +=
      number.is_grouped && counted.size() <= 6 ? cardinal(value_of(counted)) : number_words(number.digits);
  if (!number.decimals.empty()) words += " point " + digit_by_digit(number.decimals);
  if (number.rest.empty()) return words;
  const std::string rest = ascii::lower(number.rest);
  if (rest == "s") {  // the 1980s
    if (words.ends_with('y')) return words.substr(0, words.size() - 1) + "ies";
    return words + (words.ends_with('x') ? "es" : "s");
  }
  if (const Unit* unit = find_unit(rest)) {
    append_words(words, number.digits == "1" && number.decimals.empty() ? unit->one : unit->many);
    return words;
  }
  if (rest == "am" || rest == "pm") return words + " " + letter_names(rest);
  return std::nullopt;
}

// A token that holds digits, when all of it can be read as one thing.
std::optional<std::string> numeric(std::string_view token, std::string_view following) {
  if (auto words = clock(token, following)) return words;
  if (is_digit_groups(token)) return digit_by_digit(without(token, '-'));
  if (auto words = ordinal_token(token)) return words;
  if (token.front() == '$' || token.front() == kEuro || token.front() == kPound) return money(token);
  if (token.front() == '#' && all_digits(token.substr(1))) return "number " + number_words(token.substr(1));
  const auto number = parse_number_token(token);
  return number ? words_of(*number) : std::nullopt;
}

// Short words in capitals, and those nobody could pronounce, are spelled.
bool is_spelled(std::string_view token) {
  if (!all_letters(token)) return false;
  if (token.size() <= 3 && std::ranges::all_of(token, ascii::is_upper)) return true;
  const std::string word = ascii::lower(token);
  return token.size() <= 4 && word.find_first_of("aeiouy") == word.npos && !is_one_of(kVowellessWords, word);
}

// A token of letters.
std::string word(std::string_view token, const Surroundings& around) {
  const std::string small = ascii::lower(token);
  if (ends_in_digit(around.previous) && (token.size() > 1 || ascii::is_lower(token.front()))) {
    if (const Unit* unit = find_unit(small))
      return std::string(around.previous == "1" ? unit->one : unit->many);
  }
  if (token.size() == 1 && ascii::is_letter(token.front())) {
    if (token == "A") {
      const bool is_article = around.starts && !around.is_closed && !around.following.empty() &&
                              ascii::is_lower(around.following.front());
      return is_article ? "a" : "A";
    }
    return token == "a" ? "a" : ascii::upper(token);
  }
  if (small == "pm") return "P M";
  if (small == "am") {
    const std::string before = ascii::lower(around.previous);
    const size_t dash = before.rfind('-');
    const bool is_after_number =
        ends_in_digit(before) || is_number_word(dash == before.npos ? before : before.substr(dash + 1));
    return is_after_number && ascii::lower(around.following) != "i" ? "A M" : std::string(token);
  }
  if (std::string words(words_for(kAbbreviations, small)); !words.empty()) {
    if (ascii::is_upper(token.front())) words.front() = ascii::to_upper(words.front());
    return words;
  }
  if (is_one_of(kChemical, token) && !(token == "He" && around.starts)) return letter_names(token);
  return is_spelled(token) ? letter_names(token) : std::string(token);
}

// The pieces of a token that mixes letters, digits and signs: "24-hour", "B12".
std::vector<std::string_view> pieces_of(std::string_view token) {
  const auto is_word = [](char c) { return ascii::is_letter(c) || c == '\''; };
  const auto is_sign = [](char c) { return !ascii::is_letter(c) && !ascii::is_digit(c); };
  const auto is_number = [](char c) { return ascii::is_digit(c) || c == '.' || c == ','; };
  std::vector<std::string_view> pieces;
  for (size_t at = 0; at < token.size();) {
    const size_t begin = at++;
    const char c = token[begin];
    const auto extend = [&](auto belongs) {
      while (at < token.size() && belongs(token[at])) ++at;
    };
    is_word(c) ? extend(is_word) : ascii::is_digit(c) ? extend(is_number) : extend(is_sign);
    pieces.push_back(token.substr(begin, at - begin));
  }
  return pieces;
}

std::string piece_words(std::string_view piece) {
  if (ascii::is_digit(piece.front())) {
    const size_t end = piece.find_last_not_of(".,") + 1;
    return numeric(piece.substr(0, end), {}).value_or("");
  }
  if (ascii::is_letter(piece.front())) return piece.size() > 1 ? word(piece, {}) : ascii::upper(piece);
  return std::string(words_for(kSymbols, piece));
}

// "1,2,3" and "2.0.1".
std::string dotted_words(std::string_view token) {
  std::string out;
  for (const std::string_view group : split(token, ',')) {
    std::string words;
    for (const std::string_view digits : split(group, '.')) {
      if (!words.empty()) words += " point ";
      words += number_words(digits);
    }
    if (words.empty()) continue;
    if (!out.empty()) out += ", ";
    out += words;
  }
  return out;
}

std::string with_digits(std::string_view token, std::string_view following) {
  if (auto words = numeric(token, following)) return *std::move(words);
  if (std::ranges::all_of(token, [](char c) { return ascii::is_digit(c) || c == '.' || c == ','; })) {
    return dotted_words(token);
  }
  std::string out;
  for (const std::string_view piece : pieces_of(token)) append_words(out, piece_words(piece));
  return out;
}

// "H-E-L-L-O".
bool is_letter_chain(std::string_view token) {
  if (token.size() < 3 || token.size() % 2 == 0) return false;
  for (size_t i = 0; i < token.size(); ++i) {
    if (i % 2 == 0 ? !ascii::is_letter(token[i]) : token[i] != '-') return false;
  }
  return true;
}

std::string expand(std::string_view token, const Surroundings& around) {
  if (has_digit(token)) return with_digits(token, around.following);
  if (is_letter_chain(token)) return letter_names(without(token, '-'));
  std::string out;
  if (token.find('.') != token.npos) {  // "U.S", "p.m", "Ph.D"
    for (const std::string_view part : split(token, '.')) {
      append_words(out, part.size() == 1 ? ascii::upper(part) : expand(part, {}));
    }
    return out;
  }
  if (token.find('-') != token.npos) {
    bool is_first = true;
    for (const std::string_view part : split(token, '-')) {
      const Surroundings inner{.previous = is_first ? around.previous : std::string_view(),
                               .starts = around.starts && is_first};
      append_words(out, all_letters(part) ? word(part, inner) : std::string(part));
      is_first = false;
    }
    return out;
  }
  return word(token, around);
}

// Signs of sums stand by themselves; a slash or an asterisk that is none of them parts words.
std::string space_operators(std::string_view text) {
  // of each place: what comes next that is no white space
  std::vector<char> next(text.size() + 1, '\0');
  for (size_t i = text.size(); i-- > 0;) next[i] = ascii::is_blank(text[i]) ? next[i + 1] : text[i];
  std::string out;
  char last = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_sign = c == '+' || c == kTimes || c == kDivided || c == '=' || c == '&' || c == '@';
    if (is_sign) {
      out += {' ', c, ' '};
    } else if (c == '/' || c == '*') {
      out += ' ';
      if (ascii::is_digit(last) && ascii::is_digit(next[i + 1])) out += {c, ' '};
    } else {
      out += c;
    }
    if (!ascii::is_blank(c)) last = c;
  }
  return out;
}

struct Token {
  std::string_view core;
  char mark = '\0';  // of the punctuation behind it, the first
};

bool is_kept(char c) {
  constexpr std::string_view kSigns = "$\x80\xA3#%\xB0-+*\xD7\xF7/=&@";
  return ascii::is_letter(c) || ascii::is_digit(c) || kSigns.find(c) != kSigns.npos;
}

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    if (ascii::is_blank(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && !ascii::is_blank(text[end])) ++end;
    std::string_view token = text.substr(at, end - at);
    at = end;
    while (!token.empty() && !is_kept(token.front())) token.remove_prefix(1);
    size_t n = token.size();
    while (n > 0 && (!is_kept(token[n - 1]) || (token[n - 1] == '-' && n > 1))) --n;
    const size_t mark = token.find_first_of(".,?!:;", n);
    tokens.push_back({token.substr(0, n), mark == token.npos ? '\0' : token[mark]});
  }
  return tokens;
}

// A single letter that can only be meant by its name.
bool is_letter_name(std::string_view token) {
  return token.size() == 1 && ascii::is_letter(token.front()) &&
         "aAiI"sv.find(token.front()) == std::string_view::npos;
}

// A token without the dashes before its first letter.
std::string_view without_dashes(std::string_view core) {
  const bool is_number = core.size() > 1 && ascii::is_digit(core[1]);
  if (core.size() < 2 || core.front() != '-' || is_number) return core;
  return core.substr(std::min(core.find_first_not_of('-'), core.size()));
}

// A token among its neighbours.
std::string words_of_token(std::span<const Token> tokens, size_t n, bool starts) {
  const Token token = tokens[n];
  const Token previous = n > 0 ? tokens[n - 1] : Token{};
  const Token following = n + 1 < tokens.size() ? tokens[n + 1] : Token{};
  const std::string_view core = token.core;
  if (const std::string_view symbol = words_for(kSymbols, core); !symbol.empty()) return std::string(symbol);
  if (core == "-") {
    const bool is_behind_number = has_digit(previous.core) || is_number_word(previous.core);
    return is_behind_number && !following.core.empty() ? "minus" : "";
  }
  if ((core == "x" || core == "X") && has_digit(previous.core) && has_digit(following.core)) return "times";
  if (core == "a" && (is_letter_name(previous.core) || is_letter_name(following.core))) return "A";
  const std::string_view word = without_dashes(core);
  if (word.empty()) return "";
  return expand(word, {.previous = previous.mark ? std::string_view() : previous.core,
                       .following = token.mark ? std::string_view() : following.core,
                       .starts = starts,
                       .is_closed = token.mark != '\0'});
}

// Letters, apostrophes and commas, with single spaces.
std::string sayable(std::string_view words) {
  std::string out;
  bool is_apart = false;
  for (const char c : words) {
    if (!ascii::is_letter(c) && c != '\'' && c != ',') {
      is_apart = true;
      continue;
    }
    if (is_apart && !out.empty()) out += ' ';
    is_apart = false;
    out += c;
  }
  return out;
}

bool ends_sentence(char mark) {
  return mark == '.' || mark == '?' || mark == '!' || mark == ':';
}

std::string with_speeds(std::string_view text) {
  constexpr std::string_view kSpeed = "km/h", kWords = "kilometers per hour";
  std::string out;
  for (size_t at = 0;;) {
    const size_t found = text.find(kSpeed, at);
    out += text.substr(at, found - at);
    if (found == text.npos) return out;
    out += kWords;
    at = found + kSpeed.size();
  }
}

}  // namespace

std::string to_say(std::string_view text) {
  const std::string spaced = space_operators(fold(with_speeds(text)));
  const std::vector<Token> tokens = tokens_of(spaced);
  std::string out;
  bool starts = true;
  for (size_t n = 0; n < tokens.size(); ++n) {
    char mark = tokens[n].mark;
    const std::string words = sayable(words_of_token(tokens, n, starts));
    if (mark == '.' && is_one_of(kTitles, ascii::lower(without_dashes(tokens[n].core)))) mark = '\0';
    if (!words.empty()) {
      append_words(out, words);
      if (mark) out += mark;
      starts = ends_sentence(mark);
    } else if (!out.empty() && mark && ascii::is_letter(out.back())) {
      out += mark;
      starts = ends_sentence(mark);
    }
  }
  return out;
}

std::string spoken(std::string_view text) {
  std::string letters = ascii::lower(to_say(text));
  std::ranges::replace_if(
      letters, [](char c) { return !ascii::is_lower(c) && c != '\''; }, ' ');
  std::string out;
  for (std::string_view word : split(letters, ' ')) {
    while (word.starts_with('\'')) word.remove_prefix(1);
    while (word.ends_with('\'')) word.remove_suffix(1);
    append_words(out, word);
  }
  return out;
}

}  // namespace parlance
