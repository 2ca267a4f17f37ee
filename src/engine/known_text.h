// What a context remembers of a text that no sequence holds: how much that is, and to and from files. The
// files are those of sequences (sequence_file.h), and either reads the other's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/result.h"
#include "engine/context.h"
#include "kv/prefix_key.h"
#include "kv/sharing.h"

namespace parlance {

// Tokens of the text that need not be computed. Counts as a use of them.
int64_t count_known(Context& context, const PrefixKey& text);

struct StoredText {
  int64_t n_tokens = 0;
  uint64_t n_bytes = 0;  // of the file
};

// Steps go on meanwhile; they are held up by a few pages at a time.

// Writes as much of the text as is remembered to a file that appears whole or not at all. Errors: nothing is
// remembered (not_found); the file cannot be written.
Result<StoredText> save_known(Context& context, const PrefixKey& text, const std::filesystem::path& path);

// Has the context remember what a file holds, as far as `text` begins like it: what of that is known already
// is not read. Without a text, all of the file. Yields the tokens of the file that are of use. Errors:
// why the file is of no use; no room in the cache. Nothing is remembered of a file that is not right to its
// last byte of use.
struct RestoredText {
  std::vector<int32_t> tokens;
  uint64_t n_bytes = 0;
};
Result<RestoredText> restore_known(Context& context, const std::filesystem::path& path,
                                   const std::optional<PrefixKey>& text, const Sharing& sharing);

}  // namespace parlance
