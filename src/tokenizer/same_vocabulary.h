// Whether tokens of one vocabulary can stand for those of another, as a draft of one model for another does.
#pragma once

#include <string_view>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

// The rules are those that users of llama.cpp know: the same kind of tokenizer, the same tokens for beginning
// and end and whether they are added, sizes that differ by 128 at most, and from id 5 on the same texts, as
// far as both have them. The error names `drafter`, the field of its file, and what either has.
Result<void> check_same_vocabulary(const Tokenizer& drafter, std::string_view drafter_name,
                                   const Tokenizer& target, std::string_view target_name);

}  // namespace parlance
