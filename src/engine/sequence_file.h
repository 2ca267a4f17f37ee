// Sequences to and from files: the tokens and the rows that stand in place of some, the pages of their keys
// and values in the bytes of the cache, and recurrent states.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/runner.h"
#include "engine/sequence.h"

namespace parlance {

// Whoever calls these has the devices to himself (Scheduler::Pause).

Result<void> save_sequence(Sequence& sequence, Runner& runner, const std::filesystem::path& path);
// The same bytes, behind what `memory` holds.
Result<void> save_sequence(Sequence& sequence, Runner& runner, std::vector<std::byte>& memory);

// Puts the file's content in place of the sequence's, as far as `text` begins like it (all of it where there
// is no text). An error says why a file is of no use, and leaves the sequence as it was.
Result<void> restore_sequence(Sequence& sequence, const std::filesystem::path& path,
                              const std::optional<PrefixKey>& text);
// All of what save_sequence() wrote, from memory; `name` is for messages.
Result<void> restore_sequence(Sequence& sequence, std::span<const std::byte> bytes, std::string_view name);

}  // namespace parlance
