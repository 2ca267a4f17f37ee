// Sounds that are no words, written as tags in the text: "[laughter] You got me."
#pragma once

#include <cstddef>
#include <string_view>

#include "base/function_ref.h"

namespace parlance {

// Bytes of the tag that begins at `at`, or 0 when none does.
size_t non_verbal_tag(std::string_view text, size_t at);

// Calls `take` with the tags and with what is between them, in order and never empty. The model saw each of
// these parts tokenised by itself.
void split_non_verbal(std::string_view text, FunctionRef<void(std::string_view)> take);

}  // namespace parlance
