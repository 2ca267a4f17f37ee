#include "text/number_words.h"

#include <algorithm>
#include <array>

namespace parlance {

namespace {

using namespace std::string_view_literals;

constexpr std::array kOnes = {"zero"sv,    "one"sv,     "two"sv,       "three"sv,    "four"sv,
                              "five"sv,    "six"sv,     "seven"sv,     "eight"sv,    "nine"sv,
                              "ten"sv,     "eleven"sv,  "twelve"sv,    "thirteen"sv, "fourteen"sv,
                              "fifteen"sv, "sixteen"sv, "seventeen"sv, "eighteen"sv, "nineteen"sv};
// From twenty on.
constexpr std::array kTens = {"twenty"sv, "thirty"sv,  "forty"sv,  "fifty"sv,
                              "sixty"sv,  "seventy"sv, "eighty"sv, "ninety"sv};

constexpr std::string_view ordinal_of(std::string_view word) {
  if (word == "one") return "first";
  if (word == "two") return "second";
  if (word == "three") return "third";
  if (word == "five") return "fifth";
  if (word == "eight") return "eighth";
  if (word == "nine") return "ninth";
  if (word == "twelve") return "twelfth";
  return {};
}

constexpr size_t kMostReadAsNumber = 6;  // digits

}  // namespace

std::string cardinal(int n) {
  const auto with_rest = [](std::string words, int rest) {
    return rest == 0 ? words : std::move(words) + " " + cardinal(rest);
  };
  if (n < 20) return std::string(kOnes[static_cast<size_t>(n)]);
  if (n < 100) return with_rest(std::string(kTens[static_cast<size_t>(n / 10 - 2)]), n % 10);
  if (n < 1000) return with_rest(cardinal(n / 100) + " hundred", n % 100);
  return with_rest(cardinal(n / 1000) + " thousand", n % 1000);
}

std::string digit_by_digit(std::string_view digits) {
  std::string words;
  for (const char digit : digits) {
    if (!words.empty()) words += ' ';
    words += kOnes[static_cast<size_t>(digit - '0')];
  }
  return words;
}

int value_of(std::string_view digits) {
  int n = 0;
  for (const char digit : digits) n = 10 * n + (digit - '0');
  return n;
}

std::string number_words(std::string_view digits) {
  if (digits.size() > kMostReadAsNumber || (digits.size() > 1 && digits.front() == '0')) {
    return digit_by_digit(digits);
  }
  const int n = value_of(digits);
  const bool is_year = (n >= 1900 && n <= 1999) || (n >= 2010 && n <= 2099);
  if (!is_year) return cardinal(n);
  const int rest = n % 100;
  const std::string century = cardinal(n / 100) + " ";
  if (rest == 0) return century + "hundred";
  return century + (rest < 10 ? "oh " : "") + cardinal(rest);
}

std::string ordinal(int n) {
  const std::string words = cardinal(n);
  const size_t space = words.rfind(' ');
  const size_t last = space == std::string::npos ? 0 : space + 1;
  std::string word = words.substr(last);
  if (const std::string_view known = ordinal_of(word); !known.empty()) {
    word = known;
  } else if (word.ends_with('y')) {
    word.replace(word.size() - 1, 1, "ieth");
  } else {
    word += "th";
  }
  return words.substr(0, last) + word;
}

bool is_number_word(std::string_view word) {
  const auto has = [word](const auto& words) { return std::ranges::find(words, word) != words.end(); };
  return has(kOnes) || has(kTens) || word == "hundred" || word == "thousand" || word == "oh";
}

}  // namespace parlance
