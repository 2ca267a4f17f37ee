// What a language model makes of a text as a whole: a direction in its space, near to those of texts that
// mean the same.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "assistant/text_region.h"
#include "base/result.h"

namespace parlance {

// n_embd values, not normalised: of the last token, the first or the mean of all, as is wanted or else as the
// model's file says. Errors: as of Session::embed(); as many sequences are open as the region has.
Result<std::vector<float>> embed_text(const TextRegion& region, std::string_view text,
                                      std::optional<Pooling> wanted = {}, const Work& work = {});

}  // namespace parlance
