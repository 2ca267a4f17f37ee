// Where real models come from, for who has met the demo's.
#pragma once

#include "assistant/choice.h"
#include "cli/terminal/console.h"

namespace parlance {

// One line each at a terminal, where no model was named and the bundled demo answers.
void note_small_model(const Console& io, const ModelFiles& files);   // that writes
void note_small_models(const Console& io, const ModelFiles& files);  // that listen, think and speak

}  // namespace parlance
