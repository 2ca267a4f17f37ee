// The verbs below parlance eval, one file each: eval_vad.cpp has eval vad.
#pragma once

#include "cli/terminal/command.h"

namespace parlance {

Command eval_asr_command();
Command eval_codec_command();
Command eval_drafting_command();
Command eval_tts_command();
Command eval_vad_command();

}  // namespace parlance
