// The verbs of the program, one file each.
#pragma once

#include <vector>

#include "cli/terminal/command.h"

namespace parlance {

Command chat_command();
Command talk_command();
Command listen_command();
Command say_command();
Command voice_command();
Command serve_command();
Command pull_command();
Command info_command();
Command cache_command();
Command bundle_command();
Command tokenize_command();
Command quantize_command();
Command convert_command();
Command bench_command();
Command eval_command();
Command verify_command();
Command smoke_command();
Command doctor_command();

// In the order of the overview.
std::vector<Command> all_commands();

}  // namespace parlance
