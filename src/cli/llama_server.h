// The command line of llama.cpp's server, for programs that start it by that name: options of its that mean
// something else than memory or speed are the verb's own; the others are taken here, and change nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/command.h"

namespace parlance {

// What was given of these, for a word to whoever reads the log.
using UnusedFlags = std::vector<std::string>;

// Options that have no effect; each that is given is added to `given`, but for those that ask for what is so
// anyway.
OptionGroup llama_server_group(UnusedFlags& given);

// The arguments as the program understands them when it was started by a name: under the names of servers
// that it stands in for, the verb is understood.
std::vector<std::string> arguments_by_name(std::string_view program, std::vector<std::string> arguments);

// How many answers are made at once where no option says: what the first of these variables says
// (ELIZA_LOCAL_PARALLEL, ELIZA_DFLASH_PARALLEL), else 4, or 16 on a GPU. A variable that is no number from 1
// to 256 is passed over, with a word in `remarks`.
int parallel_by_default(std::optional<std::string> local, std::optional<std::string> drafting, bool is_on_gpu,
                        std::vector<std::string>& remarks);

}  // namespace parlance
