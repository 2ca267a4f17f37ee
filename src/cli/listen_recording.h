// `parlance listen FILE`: a whole recording.
#pragma once

#include "cli/listen_options.h"
#include "cli/terminal/console.h"

namespace parlance {

// Transcribes the file and prints it. Yields the exit code.
Result<int> listen_to_recording(const Console& io, const ListenOptions& options);

}  // namespace parlance
