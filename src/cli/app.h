// The program, callable: what main() does with its arguments.
#pragma once

#include <span>
#include <string>

#include "cli/terminal/console.h"

namespace parlance {

// Runs `parlance ARGUMENTS…` (without the program's own name) and yields the exit code. Every error is one
// line on io.err.
int run_cli(std::span<const std::string> arguments, Console& io);

}  // namespace parlance
