// One sequence's tokens, keys, values and recurrent states on disk, so that a conversation goes on after a
// restart. A file is believed only as far as every byte that was read of it is as it was written, and for the
// model, cache and text that it was written for: any doubt is a refusal, and the text is computed again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/os/file.h"
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

// What a block holds: a page of the sequence; the states behind some of its tokens; or rows of values that
// stand in place of embeddings, from which it can be computed again. The pages of all tokens come first, in
// order, then any number of states and then of runs of rows, each in order of position.
struct SnapshotBlock {
  enum class Kind : uint32_t { main_page, exact_page, states, rows };

  static SnapshotBlock page(PageKind kind, uint64_t n_bytes) {
    return {.kind = kind == PageKind::main ? Kind::main_page : Kind::exact_page,
            .n_tokens = 0,
            .n_bytes = n_bytes};
  }
  static SnapshotBlock rows(uint32_t first_token, uint64_t n_bytes) {
    return {.kind = Kind::rows, .n_tokens = first_token, .n_bytes = n_bytes};
  }
  static SnapshotBlock states(uint32_t n_tokens, uint64_t n_bytes) {
    return {.kind = Kind::states, .n_tokens = n_tokens, .n_bytes = n_bytes};
  }

  Kind kind;
  uint32_t n_tokens;  // that states have seen, or that stand before the rows; 0 for a page
  uint64_t n_bytes;
  bool operator==(const SnapshotBlock&) const = default;
};

// Whether a file begins as snapshots do; nothing else of it is looked at.
bool looks_like_snapshot(const std::filesystem::path& path);

// Writes a snapshot block by block, to a file that appears under its name, whole, in commit(), or to memory.
class SnapshotWriter {
 public:
  // `blocks` are what will follow. How a block's bytes are laid out is the caller's business.
  static Result<SnapshotWriter> create(const std::filesystem::path& path, const SnapshotIdentity& identity,
                                       const PrefixKey& text, std::span<const SnapshotBlock> blocks);
  // Behind what `memory` holds, which outlives the writer.
  static Result<SnapshotWriter> create(std::vector<std::byte>& memory, const SnapshotIdentity& identity,
                                       const PrefixKey& text, std::span<const SnapshotBlock> blocks);

  // The next block, of the size that was announced.
  Result<void> write_block(std::span<const std::byte> bytes);

  // When all blocks are written.
  Result<void> commit();

 private:
  using Target = std::variant<AtomicFile, std::vector<std::byte>*>;

  explicit SnapshotWriter(Target target) : target_(std::move(target)) {}
  Result<void> begin(const SnapshotIdentity& identity, const PrefixKey& text,
                     std::span<const SnapshotBlock> blocks);
  Result<void> write(std::span<const std::byte> bytes);

  Target target_;
  std::vector<SnapshotBlock> announced_;
  size_t n_written_ = 0;
  uint64_t head_checksum_ = 0;
};

// A snapshot whose head passed all checks. Blocks are checked when they are read, each into memory of the
// caller's: a file that somebody cuts or writes to meanwhile is refused like one that was damaged before.
class SnapshotFile {
 public:
  // `text` is what is to be computed, none: whatever the file has; `refusals` outlives the result. Errors:
  // what opening a file yields; refusals, which are counted: invalid_argument for one that is of no use here,
  // unsupported for a version of another program, corrupt_file for the rest.
  static Result<SnapshotFile> open(const std::filesystem::path& path, const SnapshotIdentity& expected,
                                   const std::optional<PrefixKey>& text, SnapshotRefusals& refusals);

  // The same of bytes in memory, which outlive the result; `name` is for messages.
  static Result<SnapshotFile> parse(std::span<const std::byte> bytes, std::string_view name,
                                    const SnapshotIdentity& expected, const std::optional<PrefixKey>& text,
                                    SnapshotRefusals& refusals);

  PrefixKey text() const { return {tokens_, content_}; }
  // How many of its tokens the text begins with: at least a page, or all. What blocks hold of later
  // positions, and states that have seen more tokens, are of another text.
  int64_t n_usable() const { return n_usable_; }

  std::span<const SnapshotBlock> blocks() const { return blocks_; }
  size_t n_pages() const { return n_pages_; }  // the first blocks

  // Reads a block, whose size `bytes` has. A refusal, which is counted, when it is not what was written.
  Result<void> read(size_t block, std::span<std::byte> bytes) const;

  // A refusal of the whole file by who finds that its blocks do not fit; counted.
  tl::unexpected<Error> refuse(SnapshotRefusal reason, std::string_view what) const;

 private:
  using Source = std::variant<ReadableFile, std::span<const std::byte>>;

  SnapshotFile(Source source, std::string_view name, SnapshotRefusals& refusals)
      : source_(std::move(source)), name_(name), refusals_(&refusals) {}
  Result<void> read_head(const SnapshotIdentity& expected, const std::optional<PrefixKey>& text);
  Result<void> read_bytes(uint64_t offset, std::span<std::byte> bytes) const;
  uint64_t n_bytes() const;

  Source source_;
  std::string name_;
  SnapshotRefusals* refusals_;
  std::vector<int32_t> tokens_;
  std::vector<ContentHash> content_;  // of the content tokens
  int64_t n_usable_ = 0;
  std::vector<SnapshotBlock> blocks_;
  std::vector<uint64_t> offsets_;  // of the blocks
  size_t n_pages_ = 0;
  uint64_t head_checksum_ = 0;
};

// Of the head, with seed 0; of block i, with the head's checksum + i, which ties a block to its file and
// place.
uint64_t snapshot_checksum(std::span<const std::byte> bytes, uint64_t seed);

}  // namespace parlance
