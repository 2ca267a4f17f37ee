// One sequence's tokens, keys and values on disk, so that a conversation goes on after a restart. A file is
// believed only if every byte of it is as it was written, and for the model, cache and text that it was
// written for: any doubt is a refusal, and the text is computed again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/file.h"
#include "base/result.h"

namespace parlance {

// What must be the same for a snapshot to be of use.
struct SnapshotIdentity {
  std::array<std::byte, 16> model{};  // a hash of the weights
  std::string layout;                 // the cache's formats and sizes, as its owner words them
  int32_t page_tokens = 0;
};

enum class SnapshotRefusal {
  not_a_snapshot,
  damaged,  // or cut, or longer than it was
  other_version,
  other_model,
  other_layout,
  other_text,
};

// How many files were refused, by reason; may be read from another thread.
class SnapshotRefusals {
 public:
  uint64_t count(SnapshotRefusal reason) const { return counts_[static_cast<size_t>(reason)].load(); }
  void add(SnapshotRefusal reason) { counts_[static_cast<size_t>(reason)] += 1; }

 private:
  std::array<std::atomic<uint64_t>, 6> counts_{};
};

// Writes a snapshot block by block. It appears under its name, whole, in commit().
class SnapshotWriter {
 public:
  // `block_bytes`: the sizes of the blocks that will follow. What they hold is the caller's business.
  static Result<SnapshotWriter> create(const std::filesystem::path& path, const SnapshotIdentity& identity,
                                       std::span<const int32_t> tokens,
                                       std::span<const uint64_t> block_bytes);

  // The next block, of the size that was announced.
  Result<void> write_block(std::span<const std::byte> bytes);

  // When all blocks are written.
  Result<void> commit();

 private:
  explicit SnapshotWriter(AtomicFile file) : file_(std::move(file)) {}

  AtomicFile file_;
  std::vector<uint64_t> block_bytes_;
  size_t n_written_ = 0;
  uint64_t head_checksum_ = 0;
};

// A snapshot that passed all checks.
class SnapshotFile {
 public:
  // Reads the whole file once. `tokens` is the text that is to be computed. Errors: what opening a file
  // yields; refusals, which are counted: invalid_argument for one that is of no use here, unsupported for a
  // version of another program, corrupt_file for the rest.
  static Result<SnapshotFile> open(const std::filesystem::path& path, const SnapshotIdentity& expected,
                                   std::span<const int32_t> tokens, SnapshotRefusals& refusals);

  // The same of bytes in memory, which outlive the result; `name` is for messages.
  static Result<SnapshotFile> parse(std::span<const std::byte> bytes, std::string_view name,
                                    const SnapshotIdentity& expected, std::span<const int32_t> tokens,
                                    SnapshotRefusals& refusals);

  const std::vector<int32_t>& tokens() const { return tokens_; }
  // How many of them the text begins with: at least a page, or all. What the blocks hold of later positions
  // is of another text.
  int64_t n_usable() const { return n_usable_; }

  size_t n_blocks() const { return blocks_.size(); }
  std::span<const std::byte> block(size_t i) const { return blocks_[i]; }

  // Whether the file is still as long as it was checked to be. Ask before reading blocks: behind the end of a
  // mapping that somebody cut, there is nothing to read.
  bool still_whole() const { return !file_ || file_->still_whole(); }

 private:
  SnapshotFile() = default;

  std::unique_ptr<MappedFile> file_;  // of what was opened
  std::vector<int32_t> tokens_;
  int64_t n_usable_ = 0;
  std::vector<std::span<const std::byte>> blocks_;
};

// Of the head, with seed 0; of block i, with the head's checksum + i, which ties a block to its file and
// place.
uint64_t snapshot_checksum(std::span<const std::byte> bytes, uint64_t seed);

}  // namespace parlance
