#include "kv/snapshot_file.h"

#define XXH_INLINE_ALL  // compiled in: one library less to find at run time
#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/checked.h"

namespace parlance {

namespace {

constexpr std::string_view kMagic("PARLKVS\0", 8);
constexpr uint32_t kVersion = 2;

// How a file begins. Then follow the layout's words, the tokens (i32), the hashes of the content tokens (two
// u64 each), what the blocks are (SnapshotBlock), the checksum of all that (u64), and the blocks, each with
// its checksum (u64) behind it. All little-endian.
struct FixedHead {
  char magic[8];
  uint32_t version;
  int32_t page_tokens;
  std::array<std::byte, 16> model;
  uint64_t layout_bytes;
  uint64_t n_tokens;
  uint64_t n_content;
  uint64_t n_blocks;
};
static_assert(sizeof(SnapshotBlock) == 16 && std::has_unique_object_representations_v<SnapshotBlock>);
static_assert(sizeof(ContentHash) == 16 && std::has_unique_object_representations_v<ContentHash>);
static_assert(sizeof(FixedHead) == 64 && std::has_unique_object_representations_v<FixedHead>);

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

ErrorCode code_of(SnapshotRefusal reason) {
  switch (reason) {
    case SnapshotRefusal::not_a_snapshot:
    case SnapshotRefusal::damaged:
      return ErrorCode::corrupt_file;
    case SnapshotRefusal::other_version:
      return ErrorCode::unsupported;
    default:
      return ErrorCode::invalid_argument;
  }
}

// Whether blocks are the pages of all tokens, then states and then rows in order of position.
bool are_blocks_of(std::span<const SnapshotBlock> blocks, int64_t n_tokens, int32_t page_tokens) {
  const int64_t n_pages = div_up<int64_t>(n_tokens, page_tokens);
  if (std::ssize(blocks) < n_pages) return false;
  const auto are_pages = [](const SnapshotBlock& block) {
    return block.n_tokens == 0 &&
           (block.kind == SnapshotBlock::Kind::main_page || block.kind == SnapshotBlock::Kind::exact_page);
  };
  if (!std::ranges::all_of(blocks.first(static_cast<size_t>(n_pages)), are_pages)) return false;
  const SnapshotBlock* before = nullptr;
  for (const SnapshotBlock& block : blocks.subspan(static_cast<size_t>(n_pages))) {
    const bool is_rows = block.kind == SnapshotBlock::Kind::rows;
    if (!is_rows && block.kind != SnapshotBlock::Kind::states) return false;
    if (is_rows ? block.n_tokens >= n_tokens : block.n_tokens == 0 || block.n_tokens > n_tokens) return false;
    if (before &&
        (block.kind < before->kind || (block.kind == before->kind && block.n_tokens <= before->n_tokens)))
      return false;
    before = &block;
  }
  return true;
}

// A word of a foreign file for a message: short, and printable.
std::string printable(std::string_view text) {
  std::string word(text.substr(0, 100));
  for (char& c : word) {
    if (c < ' ' || c > '~') c = '?';
  }
  return word;
}

}  // namespace

uint64_t snapshot_checksum(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

bool looks_like_snapshot(const std::filesystem::path& path) {
  const auto file = ReadableFile::open(path);
  std::array<char, kMagic.size()> magic{};
  return file && file->size() >= magic.size() && file->read(0, std::as_writable_bytes(std::span(magic))) &&
         std::ranges::equal(magic, kMagic);
}

Result<SnapshotWriter> SnapshotWriter::create(const std::filesystem::path& path,
                                              const SnapshotIdentity& identity, const PrefixKey& text,
                                              std::span<const SnapshotBlock> blocks) {
  PARLANCE_TRY(AtomicFile file, AtomicFile::create(path));
  SnapshotWriter writer(std::move(file));
  PARLANCE_CHECK(writer.begin(identity, text, blocks));
  return writer;
}

Result<SnapshotWriter> SnapshotWriter::create(std::vector<std::byte>& memory,
                                              const SnapshotIdentity& identity, const PrefixKey& text,
                                              std::span<const SnapshotBlock> blocks) {
  SnapshotWriter writer(&memory);
  PARLANCE_CHECK(writer.begin(identity, text, blocks));
  return writer;
}

Result<void> SnapshotWriter::write(std::span<const std::byte> bytes) {
  if (auto* const file = std::get_if<AtomicFile>(&target_)) return file->write(bytes);
  append(*std::get<std::vector<std::byte>*>(target_), bytes);
  return {};
}

Result<void> SnapshotWriter::begin(const SnapshotIdentity& identity, const PrefixKey& text,
                                   std::span<const SnapshotBlock> blocks) {
  announced_.assign(blocks.begin(), blocks.end());

  FixedHead fixed{.magic = {},
                  .version = kVersion,
                  .page_tokens = identity.page_tokens,
                  .model = identity.model,
                  .layout_bytes = identity.layout.size(),
                  .n_tokens = text.tokens.size(),
                  .n_content = text.content.size(),
                  .n_blocks = blocks.size()};
  std::ranges::copy(kMagic, fixed.magic);
  std::vector<std::byte> head;
  append(head, std::as_bytes(std::span(&fixed, 1)));
  append(head, std::as_bytes(std::span(identity.layout)));
  append(head, std::as_bytes(text.tokens));
  append(head, std::as_bytes(text.content));
  append(head, std::as_bytes(blocks));
  head_checksum_ = snapshot_checksum(head, 0);
  append(head, std::as_bytes(std::span(&head_checksum_, 1)));
  return write(head);
}

Result<void> SnapshotWriter::write_block(std::span<const std::byte> bytes) {
  assert(n_written_ < announced_.size() && bytes.size() == announced_[n_written_].n_bytes);
  PARLANCE_CHECK(write(bytes));
  const uint64_t checksum = snapshot_checksum(bytes, head_checksum_ + n_written_);
  n_written_ += 1;
  return write(std::as_bytes(std::span(&checksum, 1)));
}

Result<void> SnapshotWriter::commit() {
  assert(n_written_ == announced_.size());
  auto* const file = std::get_if<AtomicFile>(&target_);
  return file ? file->commit() : Result<void>();
}

Result<SnapshotFile> SnapshotFile::open(const std::filesystem::path& path, const SnapshotIdentity& expected,
                                        const std::optional<PrefixKey>& text, SnapshotRefusals& refusals) {
  PARLANCE_TRY(ReadableFile readable, ReadableFile::open(path));
  readable.prefetch();
  SnapshotFile file(std::move(readable), path.string(), refusals);
  PARLANCE_CHECK(file.read_head(expected, text));
  return file;
}

Result<SnapshotFile> SnapshotFile::parse(std::span<const std::byte> bytes, std::string_view name,
                                         const SnapshotIdentity& expected,
                                         const std::optional<PrefixKey>& text, SnapshotRefusals& refusals) {
  SnapshotFile file(bytes, name, refusals);
  PARLANCE_CHECK(file.read_head(expected, text));
  return file;
}

tl::unexpected<Error> SnapshotFile::refuse(SnapshotRefusal reason, std::string_view what) const {
  refusals_->add(reason);
  return fail(code_of(reason), "{}: {}; the text is computed again, delete the file", name_, what);
}

uint64_t SnapshotFile::n_bytes() const {
  const auto* file = std::get_if<ReadableFile>(&source_);
  return file ? file->size() : std::get<std::span<const std::byte>>(source_).size();
}

Result<void> SnapshotFile::read_bytes(uint64_t offset, std::span<std::byte> bytes) const {
  assert(offset + bytes.size() <= n_bytes());
  const auto at = static_cast<size_t>(offset);
  if (const auto* file = std::get_if<ReadableFile>(&source_)) {
    const Result<void> done = file->read(at, bytes);
    if (!done && done.error().code == ErrorCode::corrupt_file)
      return refuse(SnapshotRefusal::damaged, "the file was cut while it was read");
    return done;
  }
  std::ranges::copy(std::get<std::span<const std::byte>>(source_).subspan(at, bytes.size()), bytes.begin());
  return {};
}

Result<void> SnapshotFile::read_head(const SnapshotIdentity& expected, const std::optional<PrefixKey>& text) {
  const auto damaged = [&](const std::string& what) { return refuse(SnapshotRefusal::damaged, what); };
  FixedHead fixed{};
  if (n_bytes() >= sizeof fixed) PARLANCE_CHECK(read_bytes(0, std::as_writable_bytes(std::span(&fixed, 1))));
  if (std::string_view(fixed.magic, sizeof fixed.magic) != kMagic) {
    return refuse(SnapshotRefusal::not_a_snapshot,
                  "expected a snapshot of a KV cache, the file does not begin as one");
  }
  if (fixed.version != kVersion) {
    return refuse(SnapshotRefusal::other_version,
                  fmt::format("expected version {}, the file has {}", kVersion, fixed.version));
  }
  // Nothing else is believed before the head's checksum is right; sizes are compared with the file's.
  uint64_t end = sizeof fixed;
  bool fits = true;
  const auto skip = [&](uint64_t n, uint64_t size) {
    fits = fits && n <= (n_bytes() - end) / size;
    if (fits) end += n * size;
  };
  skip(fixed.layout_bytes, 1);
  skip(fixed.n_tokens, sizeof(int32_t));
  skip(fixed.n_content, sizeof(ContentHash));
  skip(fixed.n_blocks, sizeof(SnapshotBlock));
  if (!fits || n_bytes() - end < sizeof head_checksum_)
    return damaged(fmt::format("the file ends in its head, at byte {}", n_bytes()));
  std::vector<std::byte> head(static_cast<size_t>(end));
  PARLANCE_CHECK(read_bytes(0, head));
  PARLANCE_CHECK(read_bytes(end, std::as_writable_bytes(std::span(&head_checksum_, 1))));
  if (snapshot_checksum(head, 0) != head_checksum_) return damaged("the checksum of its head does not fit");

  std::string layout(static_cast<size_t>(fixed.layout_bytes), '\0');
  tokens_.resize(static_cast<size_t>(fixed.n_tokens));
  content_.resize(static_cast<size_t>(fixed.n_content));
  blocks_.resize(static_cast<size_t>(fixed.n_blocks));
  std::span<const std::byte> rest = std::span(head).subspan(sizeof fixed);
  const auto take = [&](std::span<std::byte> bytes) {
    std::ranges::copy(rest.first(bytes.size()), bytes.begin());
    rest = rest.subspan(bytes.size());
  };
  take(std::as_writable_bytes(std::span(layout)));
  take(std::as_writable_bytes(std::span(tokens_)));
  take(std::as_writable_bytes(std::span(content_)));
  take(std::as_writable_bytes(std::span(blocks_)));

  if (fixed.model != expected.model) {
    return refuse(SnapshotRefusal::other_model,
                  "expected a snapshot of this model, the file is of another one");
  }
  if (layout != expected.layout || fixed.page_tokens != expected.page_tokens) {
    return refuse(
        SnapshotRefusal::other_layout,
        fmt::format("expected a cache of {} with pages of {}, the file has {} with pages of {}",
                    printable(expected.layout), expected.page_tokens, printable(layout), fixed.page_tokens));
  }
  if (!are_blocks_of(blocks_, std::ssize(tokens_), fixed.page_tokens) ||
      count_content(tokens_) != std::ssize(content_)) {
    return damaged("what its head says does not fit together");
  }
  n_pages_ = static_cast<size_t>(div_up<int64_t>(std::ssize(tokens_), fixed.page_tokens));
  uint64_t at = end + sizeof head_checksum_;
  for (const SnapshotBlock& block : blocks_) {
    offsets_.push_back(at);
    if (n_bytes() - at < sizeof(uint64_t) || n_bytes() - at - sizeof(uint64_t) < block.n_bytes)
      return damaged(fmt::format("the file ends in block {} of {}", offsets_.size() - 1, blocks_.size()));
    at += block.n_bytes + sizeof(uint64_t);
  }
  if (at < n_bytes()) return damaged(fmt::format("{} bytes follow its last block", n_bytes() - at));

  // A file is of no space: who may read it is a matter of who asks for it.
  n_usable_ = text ? common_beginning(this->text(), {text->tokens, text->content}) : std::ssize(tokens_);
  if (n_usable_ < std::min<int64_t>(expected.page_tokens, std::ssize(tokens_)) || n_usable_ == 0) {
    return refuse(
        SnapshotRefusal::other_text,
        fmt::format("expected the beginning of this text, the file has another one (token {} differs)",
                    n_usable_));
  }
  return {};
}

Result<void> SnapshotFile::read(size_t block, std::span<std::byte> bytes) const {
  assert(bytes.size() == blocks_[block].n_bytes);
  uint64_t checksum = 0;
  PARLANCE_CHECK(read_bytes(offsets_[block], bytes));
  PARLANCE_CHECK(read_bytes(offsets_[block] + bytes.size(), std::as_writable_bytes(std::span(&checksum, 1))));
  if (snapshot_checksum(bytes, head_checksum_ + block) == checksum) return {};
  return refuse(SnapshotRefusal::damaged,
                fmt::format("the checksum of block {} of {} does not fit", block, blocks_.size()));
}

}  // namespace parlance
