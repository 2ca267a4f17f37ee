#include "kv/snapshot_file.h"

#define XXH_INLINE_ALL  // compiled in: one library less to find at run time
#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <optional>
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

// Takes pieces off the front of the bytes.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : rest_(bytes) {}

  size_t n_left() const { return rest_.size(); }
  std::optional<std::span<const std::byte>> take(uint64_t n_bytes) {
    if (n_bytes > rest_.size()) return std::nullopt;
    const std::span<const std::byte> piece = rest_.first(static_cast<size_t>(n_bytes));
    rest_ = rest_.subspan(piece.size());
    return piece;
  }
  // n values of a plain type, copied, since they need not be aligned.
  template <class T>
  std::optional<std::vector<T>> take_values(uint64_t n) {
    if (n > rest_.size() / sizeof(T)) return std::nullopt;
    std::vector<T> values(static_cast<size_t>(n));
    if (n > 0) std::memcpy(values.data(), rest_.data(), values.size() * sizeof(T));
    rest_ = rest_.subspan(values.size() * sizeof(T));
    return values;
  }

 private:
  std::span<const std::byte> rest_;
};

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

// Whether blocks are the pages of all tokens, then states in order of position.
bool are_blocks_of(std::span<const SnapshotBlock> blocks, int64_t n_tokens, int32_t page_tokens) {
  const int64_t n_pages = div_up<int64_t>(n_tokens, page_tokens);
  if (std::ssize(blocks) < n_pages) return false;
  int64_t last = 0;
  for (int64_t i = 0; i < std::ssize(blocks); ++i) {
    const auto& [kind, n_seen, n_bytes] = blocks[static_cast<size_t>(i)];
    if (i < n_pages) {
      const bool is_page = kind == SnapshotBlock::Kind::main_page || kind == SnapshotBlock::Kind::exact_page;
      if (!is_page || n_seen != 0) return false;
    } else {
      if (kind != SnapshotBlock::Kind::states || n_seen <= last || n_seen > n_tokens) return false;
      last = n_seen;
    }
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

Result<SnapshotWriter> SnapshotWriter::create(const std::filesystem::path& path,
                                              const SnapshotIdentity& identity, const PrefixKey& text,
                                              std::span<const SnapshotBlock> blocks) {
  PARLANCE_TRY(AtomicFile file, AtomicFile::create(path));
  SnapshotWriter writer(std::move(file));
  writer.announced_.assign(blocks.begin(), blocks.end());

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
  writer.head_checksum_ = snapshot_checksum(head, 0);
  append(head, std::as_bytes(std::span(&writer.head_checksum_, 1)));
  PARLANCE_CHECK(writer.file_.write(head));
  return writer;
}

Result<void> SnapshotWriter::write_block(std::span<const std::byte> bytes) {
  assert(n_written_ < announced_.size() && bytes.size() == announced_[n_written_].n_bytes);
  PARLANCE_CHECK(file_.write(bytes));
  const uint64_t checksum = snapshot_checksum(bytes, head_checksum_ + n_written_);
  n_written_ += 1;
  return file_.write(std::as_bytes(std::span(&checksum, 1)));
}

Result<void> SnapshotWriter::commit() {
  assert(n_written_ == announced_.size());
  return file_.commit();
}

Result<SnapshotFile> SnapshotFile::open(const std::filesystem::path& path, const SnapshotIdentity& expected,
                                        const PrefixKey& text, SnapshotRefusals& refusals) {
  PARLANCE_TRY(MappedFile mapped, MappedFile::open(path));
  mapped.prefetch();
  PARLANCE_TRY(SnapshotFile file, parse(mapped.bytes(), path.string(), expected, text, refusals));
  file.file_ = std::make_unique<MappedFile>(std::move(mapped));
  return file;
}

Result<SnapshotFile> SnapshotFile::parse(std::span<const std::byte> bytes, std::string_view name,
                                         const SnapshotIdentity& expected, const PrefixKey& text,
                                         SnapshotRefusals& refusals) {
  const auto refuse = [&](SnapshotRefusal reason, const std::string& what) {
    refusals.add(reason);
    return fail(code_of(reason), "{}: {}; the text is computed again, delete the file", name, what);
  };
  const auto damaged = [&](const std::string& what) { return refuse(SnapshotRefusal::damaged, what); };

  Cursor cursor(bytes);
  const auto fixed_bytes = cursor.take(sizeof(FixedHead));
  if (!fixed_bytes || std::memcmp(fixed_bytes->data(), kMagic.data(), kMagic.size()) != 0) {
    return refuse(SnapshotRefusal::not_a_snapshot,
                  "expected a snapshot of a KV cache, the file does not begin as one");
  }
  FixedHead fixed;
  std::memcpy(&fixed, fixed_bytes->data(), sizeof fixed);
  if (fixed.version != kVersion) {
    return refuse(SnapshotRefusal::other_version,
                  fmt::format("expected version {}, the file has {}", kVersion, fixed.version));
  }
  // Nothing else is believed before the head's checksum is right; sizes are compared with the file's.
  const auto layout = cursor.take(fixed.layout_bytes);
  auto file_tokens = layout ? cursor.take_values<int32_t>(fixed.n_tokens) : std::nullopt;
  auto file_content = file_tokens ? cursor.take_values<ContentHash>(fixed.n_content) : std::nullopt;
  const auto blocks = file_content ? cursor.take_values<SnapshotBlock>(fixed.n_blocks) : std::nullopt;
  const size_t head_bytes = bytes.size() - cursor.n_left();
  const auto head_checksum = blocks ? cursor.take_values<uint64_t>(1) : std::nullopt;
  if (!head_checksum) return damaged(fmt::format("the file ends in its head, at byte {}", bytes.size()));
  const uint64_t checksum = head_checksum->front();
  if (snapshot_checksum(bytes.first(head_bytes), 0) != checksum) {
    return damaged("the checksum of its head does not fit");
  }

  if (fixed.model != expected.model) {
    return refuse(SnapshotRefusal::other_model,
                  "expected a snapshot of this model, the file is of another one");
  }
  const std::string_view layout_text(reinterpret_cast<const char*>(layout->data()), layout->size());
  if (layout_text != expected.layout || fixed.page_tokens != expected.page_tokens) {
    return refuse(SnapshotRefusal::other_layout,
                  fmt::format("expected a cache of {} with pages of {}, the file has {} with pages of {}",
                              printable(expected.layout), expected.page_tokens, printable(layout_text),
                              fixed.page_tokens));
  }
  if (!are_blocks_of(*blocks, std::ssize(*file_tokens), fixed.page_tokens) ||
      count_content(*file_tokens) != std::ssize(*file_content)) {
    return damaged("what its head says does not fit together");
  }
  SnapshotFile file;
  file.tokens_ = *std::move(file_tokens);
  file.content_ = *std::move(file_content);
  file.n_usable_ = common_beginning(file.text(), text);
  if (file.n_usable_ < std::min<int64_t>(expected.page_tokens, file.text().n_tokens()) ||
      file.n_usable_ == 0) {
    return refuse(
        SnapshotRefusal::other_text,
        fmt::format("expected the beginning of this text, the file has another one (token {} differs)",
                    file.n_usable_));
  }

  for (size_t i = 0; i < blocks->size(); ++i) {
    const SnapshotBlock& what = (*blocks)[i];
    const auto block = cursor.take(what.n_bytes);
    const auto block_checksum = block ? cursor.take_values<uint64_t>(1) : std::nullopt;
    if (!block_checksum) {
      return damaged(fmt::format("the file ends in block {} of {}", i, blocks->size()));
    }
    if (snapshot_checksum(*block, checksum + i) != block_checksum->front()) {
      return damaged(fmt::format("the checksum of block {} of {} does not fit", i, blocks->size()));
    }
    if (what.kind == SnapshotBlock::Kind::states) {
      file.states_.push_back({what.n_tokens, *block});
    } else {
      const bool is_main = what.kind == SnapshotBlock::Kind::main_page;
      file.pages_.push_back({is_main ? PageKind::main : PageKind::exact, *block});
    }
  }
  if (cursor.n_left() > 0) return damaged(fmt::format("{} bytes follow its last block", cursor.n_left()));
  return file;
}

}  // namespace parlance
