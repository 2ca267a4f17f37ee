// Sequences to and from files: the tokens and the rows that stand in place of some, the pages of their keys
// and values in the bytes of the cache, and recurrent states.
#pragma once

#include <filesystem>
#include <optional>

#include "base/result.h"
#include "engine/runner.h"
#include "engine/sequence.h"

namespace parlance {

// Whoever calls these has the devices to himself (Scheduler::Pause).

Result<void> save_sequence(Sequence& sequence, Runner& runner, const std::filesystem::path& path);

// Puts the file's content in place of the sequence's, as far as `text` begins like it (all of it where there
// is no text). An error says why a file is of no use, and leaves the sequence as it was.
Result<void> restore_sequence(Sequence& sequence, const std::filesystem::path& path,
                              const std::optional<PrefixKey>& text);

}  // namespace parlance
