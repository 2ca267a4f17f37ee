// Text generation in one call: a prompt in, text out piece by piece, until the model ends its turn or a limit
// is met.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/request.h"

namespace parlance {

// Called with each piece of text as soon as it is final (whole code points, no beginning of a stop text).
using OnText = std::function<void(std::string_view text)>;

// Runs the session from `prompt`. Cancelling its ticket (GenerateOptions::work) ends the answer with
// FinishReason::cancelled; what was said until then is kept. Errors: as of Request::start() and
// Request::result().
Result<GenerateResult> generate(Session& session, std::span<const Token> prompt,
                                const GenerateOptions& options, const OnText& on_text = {});

}  // namespace parlance
