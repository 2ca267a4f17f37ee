// UTF-8 and the character properties that Python's string methods are defined by.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace parlance::jinja {

// Offset of the first byte that is not part of valid UTF-8; npos when all are.
size_t find_invalid_utf8(std::string_view bytes);
// Every maximal invalid part as U+FFFD.
std::string sanitise_utf8(std::string_view bytes);

// The functions below expect valid UTF-8.

// The character at `at`, which moves behind it.
char32_t next_character(std::string_view text, size_t& at);
// The character that ends at `at`, which moves to its start.
char32_t previous_character(std::string_view text, size_t& at);
void append_character(std::string& text, char32_t character);
size_t count_characters(std::string_view text);
// Byte offset of character number n; text.size() when there are no more than n.
size_t offset_of_character(std::string_view text, size_t n);
// Start of the character that the byte at `at` belongs to.
size_t start_of_character(std::string_view text, size_t at);

bool is_space(char32_t character);       // str.isspace, and what strip() and split() remove
bool is_line_break(char32_t character);  // where splitlines() splits
bool is_printable(char32_t character);
bool is_letter(char32_t character);
bool is_decimal(char32_t character);
bool is_digit(char32_t character);   // decimals, superscripts and circled digits
bool is_number(char32_t character);  // any category of numbers, decimal digits among them
bool is_identifier_part(char32_t character);
bool is_lower(char32_t character);
bool is_upper(char32_t character);  // upper or title case

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalise(std::string_view text);  // the first character in title case, the others lower
std::string title(std::string_view text);       // every run of cased characters capitalised
std::string swap_case(std::string_view text);

// str.isupper and str.islower: some character has case, and all that have are of this one.
bool has_only_case(std::string_view text, bool wants_upper);

// `text` without white space at its ends.
std::string_view strip_left(std::string_view text);
std::string_view strip_right(std::string_view text);
std::string_view strip(std::string_view text);

}  // namespace parlance::jinja
