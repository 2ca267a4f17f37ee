// Numbers in English words.
#pragma once

#include <string>
#include <string_view>

namespace parlance {

// 0 to 999 999, without "and" and without hyphens.
std::string cardinal(int n);

// A run of digits: 1900 to 1999 and 2010 to 2099 as years; with a leading zero or more than six digits one by
// one.
std::string number_words(std::string_view digits);

// "555" -> "five five five".
std::string digit_by_digit(std::string_view digits);

// 0 to 999: "twenty first".
std::string ordinal(int n);

// A word that numbers are made of, "oh" included.
bool is_number_word(std::string_view word);

// A run of at most six digits as a number.
int value_of(std::string_view digits);

}  // namespace parlance
