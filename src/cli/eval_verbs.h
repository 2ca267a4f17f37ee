// The verbs below parlance eval, one file each: eval_vad.cpp has eval vad.
#pragma once

#include "cli/command.h"

namespace parlance {

Command eval_vad_command();

}  // namespace parlance
