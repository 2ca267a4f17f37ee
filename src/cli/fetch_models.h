// Models that a command line names as hubs do.
#pragma once

#include "base/result.h"
#include "cli/terminal/command.h"

namespace parlance {

// Fetches those that options name, or the environment variable PARLANCE_MODEL in place of --model, and that
// are not here. Without any it asks nobody. Called when the command line has been read.
Result<void> fetch_models(const Command& command, const Console& io);

}  // namespace parlance
