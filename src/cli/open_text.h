// From options to a language model that is ready to run.
#pragma once

#include <memory>
#include <string>

#include "assistant/text_stream.h"
#include "cli/terminal/console.h"

namespace parlance {

// Shows remarks as warnings.
OnRemark warnings_to(const Console& io);

Result<std::unique_ptr<TextStream>> open_text(const Choice& choice, const Console& io);

}  // namespace parlance
