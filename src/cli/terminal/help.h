// Help texts, laid out from the tables of commands for the width of the terminal.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/terminal/command.h"
#include "cli/terminal/console.h"

namespace parlance {

// What `parlance --help` says: the verbs and how to go on.
std::string overview(const Console& io, std::span<const Command> commands);

// What `parlance VERB --help` says.
std::string help_of(const Console& io, const Command& command);

// The text broken at spaces into lines of at most `width` columns, every line but the first indented.
std::string wrap(std::string_view text, size_t width, size_t indent);

}  // namespace parlance
