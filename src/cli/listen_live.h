// `parlance listen` to sound that is being made: a microphone, standard input, or a file that is treated so.
#pragma once

#include "cli/listen_options.h"
#include "cli/terminal/console.h"

namespace parlance {

// Transcribes until the sound ends or the person interrupts. Yields the exit code.
Result<int> listen_live(const Console& io, const ListenOptions& options);

}  // namespace parlance
