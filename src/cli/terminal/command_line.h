// Command lines: the words after the verb, sorted into the verb's options.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "cli/terminal/command.h"

namespace parlance {

struct ParsedLine {
  bool wants_help = false;
};

// Sets the options of the command from its arguments (without program and verb). Every error is one of usage:
// an option that does not exist, a value that does not fit, a positional missing or too many.
Result<ParsedLine> parse_command_line(const Command& command, std::span<const std::string> arguments);

}  // namespace parlance
