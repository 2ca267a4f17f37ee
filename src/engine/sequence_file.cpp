#include "engine/sequence_file.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/parameter.h"
#include "engine/context.h"
#include "kv/snapshot_file.h"

namespace parlance {

namespace {

// Which page of a position is stored: the exact one as long as there is one.
PageKind stored_kind(PageRef page) {
  return page.exact >= 0 ? PageKind::exact : PageKind::main;
}

// What a file is made of, in this order: a byte for each page that says which kind it is; the pages, each
// with the bytes of all parts; of models with recurrent layers, the positions of copies of their states, and
// these.
struct Blocks {
  std::vector<std::byte> kinds;
  std::vector<std::byte> positions;  // int64, ascending
  std::vector<StateCopy> states;
  std::vector<uint64_t> sizes;
};

Blocks blocks_of(const Context& context, std::span<const PageRef> pages,
                 std::span<const Snapshot> snapshots) {
  Blocks blocks;
  blocks.sizes.push_back(pages.size());
  for (const PageRef page : pages) {
    blocks.kinds.push_back(static_cast<std::byte>(stored_kind(page)));
    blocks.sizes.push_back(context.layout().page_bytes(stored_kind(page)));
  }
  if (context.state_bytes() == 0) return blocks;
  blocks.positions.resize(snapshots.size() * sizeof(int64_t));
  blocks.sizes.push_back(blocks.positions.size());
  for (size_t i = 0; i < snapshots.size(); ++i) {
    std::memcpy(&blocks.positions[i * sizeof(int64_t)], &snapshots[i].n_tokens, sizeof(int64_t));
    blocks.states.push_back(snapshots[i].states);
    blocks.sizes.push_back(snapshots[i].states->size());
  }
  return blocks;
}

// The pages of a file that are of use, filled.
Result<SequencePages> read_pages(Context& context, const SnapshotFile& file,
                                 const std::filesystem::path& path) {
  const KvLayout& layout = context.layout();
  SequencePages pages(context.pools(), layout.page_tokens);
  const int64_t n_pages = div_up<int64_t>(file.n_usable(), layout.page_tokens);
  for (int64_t page = 0; page < n_pages; ++page) {
    const auto kind = static_cast<PageKind>(file.block(0)[static_cast<size_t>(page)]);
    std::span<const std::byte> bytes = file.block(static_cast<size_t>(page) + 1);
    const int64_t end = std::min(file.n_usable(), (page + 1) * layout.page_tokens);
    SequencePages::Extension room = pages.extend(end, kind);
    if (room.outcome == SequencePages::Extension::no_room) {
      PageCounts wanted;
      wanted[kind] = static_cast<int32_t>(n_pages - page);
      context.tree().evict(wanted);
      room = pages.extend(end, kind);
    }
    if (room.outcome != SequencePages::Extension::done) {
      return fail(ErrorCode::out_of_memory, "{}: its {} tokens do not fit the KV cache; raise {}",
                  path.string(), file.n_usable(), Parameter::ctx_size);
    }
    for (const auto& part : context.parts()) {
      const size_t size = part->cache().layout().page_bytes(kind);
      part->cache().restore_page(part->stream(), kind, pages.pages()[static_cast<size_t>(page)][kind],
                                 bytes.first(size));
      bytes = bytes.subspan(size);
    }
  }
  for (const auto& part : context.parts()) PARLANCE_CHECK(part->stream().synchronize());
  return pages;
}

// Whether the blocks are those of Blocks, with sizes that this context has.
bool is_well_formed(const Context& context, const SnapshotFile& file) {
  const KvLayout& layout = context.layout();
  if (file.n_usable() > context.options().n_ctx || file.n_blocks() == 0) return false;
  const size_t n_pages = file.block(0).size();
  if (n_pages != static_cast<size_t>(div_up<int64_t>(std::ssize(file.tokens()), layout.page_tokens)))
    return false;
  const size_t n_before_states = n_pages + 1;
  if (file.n_blocks() < n_before_states) return false;
  for (size_t page = 0; page < n_pages; ++page) {
    const auto kind = static_cast<PageKind>(file.block(0)[page]);
    const bool is_known =
        kind == PageKind::main || (kind == PageKind::exact && context.options().cache.has_exact_pages());
    if (!is_known || file.block(page + 1).size() != layout.page_bytes(kind)) return false;
  }
  if (context.state_bytes() == 0) return file.n_blocks() == n_before_states;
  if (file.n_blocks() == n_before_states) return false;
  const size_t n_states = file.block(n_before_states).size() / sizeof(int64_t);
  if (file.n_blocks() != n_before_states + 1 + n_states) return false;
  for (size_t i = 0; i < n_states; ++i) {
    if (file.block(n_before_states + 1 + i).size() != context.state_bytes()) return false;
  }
  return true;
}

// Copies of states at positions that the text agrees with.
std::vector<Snapshot> read_states(const Context& context, const SnapshotFile& file) {
  std::vector<Snapshot> snapshots;
  if (context.state_bytes() == 0) return snapshots;
  const size_t first = file.block(0).size() + 1;
  const std::span<const std::byte> positions = file.block(first);
  for (size_t i = 0; i < positions.size() / sizeof(int64_t); ++i) {
    int64_t position = 0;
    std::memcpy(&position, &positions[i * sizeof(int64_t)], sizeof position);
    const int64_t before = snapshots.empty() ? 0 : snapshots.back().n_tokens;
    if (position <= before || position > file.n_usable()) break;
    const std::span<const std::byte> bytes = file.block(first + 1 + i);
    snapshots.push_back(
        {position, std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end())});
  }
  return snapshots;
}

}  // namespace

Result<void> save_sequence(Sequence& sequence, Runner& runner, const std::filesystem::path& path) {
  Context& context = sequence.context();
  if (!sequence.key().content.empty() || sequence.has_noise()) {
    return fail(ErrorCode::unsupported,
                "a sequence with audio cannot be saved; its tokens do not tell what it was");
  }
  if (sequence.wants_states()) {
    PARLANCE_TRY(StateCopy states, runner.save_states(sequence));
    sequence.add_snapshot(std::move(states));
  }
  const auto pages = sequence.pages().pages();
  const Blocks blocks = blocks_of(context, pages, sequence.snapshots());
  PARLANCE_TRY(auto writer,
               SnapshotWriter::create(path, context.snapshot_identity(),
                                      sequence.key().first(sequence.n_computed()).tokens, blocks.sizes));
  PARLANCE_CHECK(writer.write_block(blocks.kinds));
  std::vector<std::byte> bytes;
  const int64_t page_tokens = context.layout().page_tokens;
  for (size_t page = 0; page < pages.size(); ++page) {
    const PageKind kind = stored_kind(pages[page]);
    const int64_t n_held =
        std::min(page_tokens, sequence.n_computed() - static_cast<int64_t>(page) * page_tokens);
    bytes.resize(blocks.sizes[page + 1]);
    std::span<std::byte> rest = bytes;
    for (const auto& part : context.parts()) {
      const size_t size = part->cache().layout().page_bytes(kind);
      PARLANCE_CHECK(
          part->cache().save_page(part->stream(), kind, pages[page][kind], n_held, rest.first(size)));
      rest = rest.subspan(size);
    }
    PARLANCE_CHECK(writer.write_block(bytes));
  }
  if (context.state_bytes() > 0) {
    PARLANCE_CHECK(writer.write_block(blocks.positions));
    for (const StateCopy& states : blocks.states) PARLANCE_CHECK(writer.write_block(*states));
  }
  return writer.commit();
}

Result<void> restore_sequence(Sequence& sequence, const std::filesystem::path& path,
                              std::span<const Token> tokens) {
  Context& context = sequence.context();
  PARLANCE_TRY(const SnapshotFile file,
               SnapshotFile::open(path, context.snapshot_identity(), tokens, context.snapshot_refusals()));
  if (!is_well_formed(context, file)) {
    context.snapshot_refusals().add(SnapshotRefusal::damaged);
    return fail(ErrorCode::corrupt_file, "{}: its blocks are not the pages of its tokens; delete it",
                path.string());
  }
  PARLANCE_TRY(SequencePages pages, read_pages(context, file, path));
  sequence.replace(std::move(pages), {file.tokens().begin(), file.tokens().begin() + file.n_usable()},
                   read_states(context, file));
  return {};
}

}  // namespace parlance
