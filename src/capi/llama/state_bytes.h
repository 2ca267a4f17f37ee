// The bytes around a sequence's snapshot: the head of a state, and a file that has tokens before one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "capi/llama/abi.h"

namespace parlance::capi {

// Of a sequence without text there is no snapshot.
struct StateBytes {
  llama_pos first = 0;  // position of the first token
  std::span<const std::byte> snapshot;
};

std::vector<std::byte> state_head(bool has_text, llama_pos first);
// Errors: corrupt_file, unsupported (another version, or something else).
Result<StateBytes> read_state(std::span<const std::byte> bytes);

// A file's tokens, and the state behind them.
struct StateFile {
  std::vector<llama_token> tokens;
  std::span<const std::byte> state;
};

std::vector<std::byte> state_file_head(std::span<const llama_token> tokens);
// Errors: as read_state().
Result<StateFile> read_state_file(std::span<const std::byte> bytes);

}  // namespace parlance::capi
