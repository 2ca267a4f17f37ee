// One sequence's tokens, keys, values and recurrent states on disk, so that a conversation goes on after a
// restart. A file is
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

#include "base/file.h"
#include "base/result.h"
#include "kv/page_pool.h"
#include "kv/prefix_key.h"

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

// What a block holds: a page of the sequence, or the states behind some of its tokens. The pages of all
// tokens come first, in order, then any number of states, in order of position.
struct SnapshotBlock {
  enum class Kind : uint32_t { main_page, exact_page, states };

  static SnapshotBlock page(PageKind kind, uint64_t n_bytes) {
    return {.kind = kind == PageKind::main ? Kind::main_page : Kind::exact_page,
            .n_tokens = 0,
            .n_bytes = n_bytes};
  }
  static SnapshotBlock states(uint32_t n_tokens, uint64_t n_bytes) {
    return {.kind = Kind::states, .n_tokens = n_tokens, .n_bytes = n_bytes};
  }

  Kind kind;
  uint32_t n_tokens;  // that states have seen; 0 for a page
  uint64_t n_bytes;
  bool operator==(const SnapshotBlock&) const = default;
};

// Writes a snapshot block by block. It appears under its name, whole, in commit().
class SnapshotWriter {
 public:
  // `blocks` are what will follow. How a block's bytes are laid out is the caller's business.
  static Result<SnapshotWriter> create(const std::filesystem::path& path, const SnapshotIdentity& identity,
                                       const PrefixKey& text, std::span<const SnapshotBlock> blocks);

  // The next block, of the size that was announced.
  Result<void> write_block(std::span<const std::byte> bytes);

  // When all blocks are written.
  Result<void> commit();

 private:
  explicit SnapshotWriter(AtomicFile file) : file_(std::move(file)) {}

  AtomicFile file_;
  std::vector<SnapshotBlock> announced_;
  size_t n_written_ = 0;
  uint64_t head_checksum_ = 0;
};

// A snapshot that passed all checks.
class SnapshotFile {
 public:
  // Reads the whole file once. `text` is what is to be computed. Errors: what opening a file
  // yields; refusals, which are counted: invalid_argument for one that is of no use here, unsupported for a
  // version of another program, corrupt_file for the rest.
  static Result<SnapshotFile> open(const std::filesystem::path& path, const SnapshotIdentity& expected,
                                   const PrefixKey& text, SnapshotRefusals& refusals);

  // The same of bytes in memory, which outlive the result; `name` is for messages.
  static Result<SnapshotFile> parse(std::span<const std::byte> bytes, std::string_view name,
                                    const SnapshotIdentity& expected, const PrefixKey& text,
                                    SnapshotRefusals& refusals);

  PrefixKey text() const { return {tokens_, content_}; }
  // How many of its tokens the text begins with: at least a page, or all. What pages hold of later positions,
  // and states that have seen more tokens, are of another text.
  int64_t n_usable() const { return n_usable_; }

  struct Page {
    PageKind kind;
    std::span<const std::byte> bytes;
  };
  std::span<const Page> pages() const { return pages_; }  // of all tokens

  struct States {
    int64_t n_tokens;  // that they have seen
    std::span<const std::byte> bytes;
  };
  std::span<const States> states() const { return states_; }  // in order of position

  // Whether the file is still as long as it was checked to be. Ask before reading blocks: behind the end of a
  // mapping that somebody cut, there is nothing to read.
  bool still_whole() const { return !file_ || file_->still_whole(); }

 private:
  SnapshotFile() = default;

  std::unique_ptr<MappedFile> file_;  // of what was opened
  std::vector<int32_t> tokens_;
  std::vector<ContentHash> content_;  // of the content tokens
  int64_t n_usable_ = 0;
  std::vector<Page> pages_;
  std::vector<States> states_;
};

// Of the head, with seed 0; of block i, with the head's checksum + i, which ties a block to its file and
// place.
uint64_t snapshot_checksum(std::span<const std::byte> bytes, uint64_t seed);

}  // namespace parlance
