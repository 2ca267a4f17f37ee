// Any bytes as a snapshot of a KV cache: refused with one line and counted once, or read completely, in
// memory in proportion to their number. Checksums stop nearly all mutations, so each input is tried again
// with those that it should have.
#include <cstdint>
#include <cstring>
#include <vector>

#include "allocations.h"
#include "kv/snapshot_file.h"

namespace {

using namespace parlance;
using parlance::fuzz::require;

// What the files of the corpus are for.
const SnapshotIdentity kIdentity{.model = {std::byte{7}}, .layout = "K q8_0 V q8_0", .page_tokens = 4};
const ContentHash kSound{21, 22};
const std::vector<int32_t> kText{1, 2, 3, content_token(kSound), 5, 6, 7, 8, 9};

void check(std::span<const std::byte> bytes) {
  SnapshotRefusals refusals;
  const Result<SnapshotFile> file =
      SnapshotFile::parse(bytes, "input", kIdentity, PrefixKey{kText, std::span(&kSound, 1)}, refusals);
  uint64_t n_refused = 0;
  for (int reason = 0; reason < 6; ++reason)
    n_refused += refusals.count(static_cast<SnapshotRefusal>(reason));
  require(n_refused == (file ? 0 : 1), "a refusal is counted once");
  if (!file) {
    const std::string& message = file.error().message;
    require(message.size() < 1000, "messages are short");
    for (const char c : message) require(c >= ' ' && c <= '~', "messages are one line of plain text");
    return;
  }
  const auto n_usable = static_cast<size_t>(file->n_usable());
  const PrefixKey text = file->text();
  require(n_usable > 0 && n_usable <= text.tokens.size() && n_usable <= kText.size(), "something is usable");
  for (size_t i = 0; i < n_usable; ++i) require(text.tokens[i] == kText[i], "it is of this text");
  require(n_usable < 4 || text.content.front() == kSound, "and of this sound");
  require(file->n_pages() == (text.tokens.size() + 3) / 4, "every token has a page");
  require(file->n_pages() <= file->blocks().size(), "pages are blocks");
  int64_t last_rows = -1, last_states = 0;
  std::vector<std::byte> content;
  for (size_t i = 0; i < file->blocks().size(); ++i) {
    const auto& [kind, n_tokens, n_bytes] = file->blocks()[i];
    const bool is_page = kind == SnapshotBlock::Kind::main_page || kind == SnapshotBlock::Kind::exact_page;
    require(is_page == (i < file->n_pages()), "pages come first");
    if (kind == SnapshotBlock::Kind::rows) {
      require(n_tokens > last_rows && n_tokens < text.n_tokens(), "rows stand in its text");
      last_rows = n_tokens;
    } else if (!is_page) {
      require(n_tokens > last_states && n_tokens <= text.n_tokens(), "states are behind its tokens");
      require(last_rows < 0, "and before rows");
      last_states = n_tokens;
    }
    require(n_bytes <= bytes.size(), "blocks lie in the file");
    content.resize(static_cast<size_t>(n_bytes));
    const uint64_t n_damaged = refusals.count(SnapshotRefusal::damaged);
    const bool is_read = file->read(i, content).has_value();
    require(refusals.count(SnapshotRefusal::damaged) == n_damaged + (is_read ? 0 : 1),
            "a refusal is counted once");
  }
}

uint64_t value_at(std::span<const uint8_t> bytes, size_t at) {
  uint64_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Puts the checksums where the sizes in the head say, as far as they lie in the file.
void put_checksums(std::span<uint8_t> bytes) {
  constexpr size_t kFixedHead = 64, kBlock = 16, kChecksum = 8;
  if (bytes.size() < kFixedHead) return;
  const uint64_t layout_bytes = value_at(bytes, 32), n_tokens = value_at(bytes, 40),
                 n_content = value_at(bytes, 48), n_blocks = value_at(bytes, 56);
  const uint64_t limit = bytes.size();
  if (layout_bytes > limit || n_tokens > limit || n_content > limit || n_blocks > limit) return;
  const uint64_t blocks = kFixedHead + layout_bytes + 4 * n_tokens + 16 * n_content;
  const uint64_t head = blocks + kBlock * n_blocks;
  if (head + kChecksum > limit) return;
  const uint64_t checksum = snapshot_checksum(std::as_bytes(bytes.first(head)), 0);
  std::memcpy(bytes.data() + head, &checksum, kChecksum);
  uint64_t at = head + kChecksum;
  for (uint64_t i = 0; i < n_blocks; ++i) {
    const uint64_t n_bytes = value_at(bytes, blocks + kBlock * i + 8);
    if (n_bytes > limit || at + n_bytes + kChecksum > limit) return;
    const uint64_t block = snapshot_checksum(std::as_bytes(bytes.subspan(at, n_bytes)), checksum + i);
    std::memcpy(bytes.data() + at + n_bytes, &block, kChecksum);
    at += n_bytes + kChecksum;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  const fuzz::AllocationLimit limit(65536 + 8 * size);
  check(std::as_bytes(std::span(bytes)));
  put_checksums(bytes);
  check(std::as_bytes(std::span(bytes)));
  return 0;
}
