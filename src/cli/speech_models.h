// The options that say which models speak.
#pragma once

#include "assistant/choice.h"
#include "cli/terminal/command.h"

namespace parlance {

OptionGroup say_model_group(Choice& choice);

// An error of usage: one file of two, or both a folder and files.
Result<void> check_speech_models(const Choice& choice);

}  // namespace parlance
