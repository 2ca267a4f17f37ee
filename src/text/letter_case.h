// Upper and lower case by the rules of Unicode, as Python's methods of strings apply them. Text is valid
// UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace parlance {

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalise(std::string_view text);  // the first character in title case, the others lower
std::string title(std::string_view text);       // every run of cased characters capitalised
std::string swap_case(std::string_view text);

// str.isupper and str.islower: some character has case, and all that have are of this one.
bool has_only_case(std::string_view text, bool wants_upper);

// For comparisons without case; text that is no UTF-8 stays as it is.
std::string fold_case(std::string_view text);

}  // namespace parlance
