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
constexpr uint32_t kVersion = 1;

// How a file begins. Then follow the layout's words, the tokens (i32), the sizes of the blocks (u64), the
// checksum of all that (u64), and the blocks, each with its checksum (u64) behind it. All little-endian.
struct FixedHead {
  char magic[8];
  uint32_t version;
  int32_t page_tokens;
  std::array<std::byte, 16> model;
  uint64_t layout_bytes;
  uint64_t n_tokens;
  uint64_t n_blocks;
};
static_assert(sizeof(FixedHead) == 56 && std::has_unique_object_representations_v<FixedHead>);

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
                                              const SnapshotIdentity& identity,
                                              std::span<const int32_t> tokens,
                                              std::span<const uint64_t> block_bytes) {
  PARLANCE_TRY(AtomicFile file, AtomicFile::create(path));
  SnapshotWriter writer(std::move(file));
  writer.block_bytes_.assign(block_bytes.begin(), block_bytes.end());

  FixedHead fixed{.magic = {},
                  .version = kVersion,
                  .page_tokens = identity.page_tokens,
                  .model = identity.model,
                  .layout_bytes = identity.layout.size(),
                  .n_tokens = tokens.size(),
                  .n_blocks = block_bytes.size()};
  std::ranges::copy(kMagic, fixed.magic);
  std::vector<std::byte> head;
  append(head, std::as_bytes(std::span(&fixed, 1)));
  append(head, std::as_bytes(std::span(identity.layout)));
  append(head, std::as_bytes(tokens));
  append(head, std::as_bytes(block_bytes));
  writer.head_checksum_ = snapshot_checksum(head, 0);
  append(head, std::as_bytes(std::span(&writer.head_checksum_, 1)));
  PARLANCE_CHECK(writer.file_.write(head));
  return writer;
}

Result<void> SnapshotWriter::write_block(std::span<const std::byte> bytes) {
  assert(n_written_ < block_bytes_.size() && bytes.size() == block_bytes_[n_written_]);
  PARLANCE_CHECK(file_.write(bytes));
  const uint64_t checksum = snapshot_checksum(bytes, head_checksum_ + n_written_);
  n_written_ += 1;
  return file_.write(std::as_bytes(std::span(&checksum, 1)));
}

Result<void> SnapshotWriter::commit() {
  assert(n_written_ == block_bytes_.size());
  return file_.commit();
}

Result<SnapshotFile> SnapshotFile::open(const std::filesystem::path& path, const SnapshotIdentity& expected,
                                        std::span<const int32_t> tokens, SnapshotRefusals& refusals) {
  PARLANCE_TRY(MappedFile mapped, MappedFile::open(path));
  mapped.prefetch();
  PARLANCE_TRY(SnapshotFile file, parse(mapped.bytes(), path.string(), expected, tokens, refusals));
  file.file_ = std::make_unique<MappedFile>(std::move(mapped));
  return file;
}

Result<SnapshotFile> SnapshotFile::parse(std::span<const std::byte> bytes, std::string_view name,
                                         const SnapshotIdentity& expected, std::span<const int32_t> tokens,
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
  const auto block_bytes = file_tokens ? cursor.take_values<uint64_t>(fixed.n_blocks) : std::nullopt;
  const size_t head_bytes = bytes.size() - cursor.n_left();
  const auto head_checksum = block_bytes ? cursor.take_values<uint64_t>(1) : std::nullopt;
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
  const auto n_usable = std::ranges::mismatch(*file_tokens, tokens).in1 - file_tokens->begin();
  if (n_usable < std::min<int64_t>(expected.page_tokens, static_cast<int64_t>(file_tokens->size())) ||
      n_usable == 0) {
    return refuse(
        SnapshotRefusal::other_text,
        fmt::format("expected the beginning of this text, the file has another one (token {} differs)",
                    n_usable));
  }

  SnapshotFile file;
  for (size_t i = 0; i < block_bytes->size(); ++i) {
    const auto block = cursor.take((*block_bytes)[i]);
    const auto block_checksum = block ? cursor.take_values<uint64_t>(1) : std::nullopt;
    if (!block_checksum) {
      return damaged(fmt::format("the file ends in block {} of {}", i, block_bytes->size()));
    }
    if (snapshot_checksum(*block, checksum + i) != block_checksum->front()) {
      return damaged(fmt::format("the checksum of block {} of {} does not fit", i, block_bytes->size()));
    }
    file.blocks_.push_back(*block);
  }
  if (cursor.n_left() > 0) return damaged(fmt::format("{} bytes follow its last block", cursor.n_left()));
  file.tokens_ = *std::move(file_tokens);
  file.n_usable_ = n_usable;
  return file;
}

}  // namespace parlance
