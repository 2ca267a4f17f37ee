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

// Lines "name = value" that --config reads again, each behind where it is from; what nobody has given, and
// secrets, are comments.
std::string settings_text(std::span<const Setting> settings);

// What a file has of one option of a command, "allowed-host"; nothing where it has none. Errors: of reading
// it.
Result<std::vector<std::string>> setting_in_file(const std::string& command, const std::string& path,
                                                 const std::string& name);

}  // namespace parlance
