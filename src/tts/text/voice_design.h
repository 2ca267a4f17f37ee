// A voice described in words that the model knows: "female, low pitch, british accent".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace parlance {

// The description as the prompt has it, all in one language; empty when nothing is asked for. Items are
// separated by commas, in English or Chinese: Chinese with a dialect, English with an accent, otherwise as
// `speaks_chinese` says, which is whether the text to be spoken has_cjk(). Errors: unknown items, each with
// the known one that it resembles; two items of one category; a dialect with an accent.
Result<std::string> resolve_voice_design(std::string_view description, bool speaks_chinese);

}  // namespace parlance
