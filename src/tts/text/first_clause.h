// Where the first chunk of a text may end, so that its sound comes early: nothing is heard before the whole
// chunk is computed.
#pragma once

#include <cstddef>
#include <string_view>

namespace parlance {

// Bytes of the first clause, without the white space after it: up to the first punctuation mark that ends a
// sentence or a clause, else up to before the first conjunction, at 8 to 45 units of text_weight(), with 12
// or more left for the rest. 0 when there is no such place: the text is short, or a long clause. Never inside
// a number, behind an abbreviation or in a tag.
size_t first_clause(std::string_view text);

// Where the clause ends whose last mark is text[start, after), with the marks that close it; 0 when the mark
// ends none, as in numbers, behind abbreviations and inside addresses. What follows in the text decides with
// it.
size_t clause_end(std::string_view text, size_t start, size_t after);

}  // namespace parlance
