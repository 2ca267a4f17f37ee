// The conversation at a terminal: questions, streamed answers, and /commands.
#pragma once

#include <string>
#include <vector>

#include "assistant/text_stream.h"
#include "base/result.h"
#include "cli/terminal/console.h"
#include "cli/terminal/line_reader.h"
#include "cli/terminal/options.h"

namespace parlance {

// Every /command, for completion.
std::vector<std::string> repl_commands();

// Reads lines until /exit or their end. Yields the exit code.
Result<int> run_repl(const Console& io, LineReader& lines, TextStream& text, const AnswerChoice& answer,
                     const PromptChoice& prompt);

}  // namespace parlance
