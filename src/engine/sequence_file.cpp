#include "engine/sequence_file.h"

#include <algorithm>
#include <cstring>

#include "base/parameter.h"
#include "engine/context.h"
#include "engine/stored_pages.h"
#include "kv/snapshot_file.h"

namespace parlance {

namespace {

// What a file holds of a sequence, in this order.
std::vector<SnapshotBlock> blocks_of(const Sequence& sequence) {
  const Context& context = sequence.context();
  std::vector<SnapshotBlock> blocks;
  for (const PageRef page : sequence.pages().pages()) blocks.push_back(page_block(context, page));
  for (const Snapshot& snapshot : sequence.snapshots())
    blocks.push_back(
        SnapshotBlock::states(static_cast<uint32_t>(snapshot.n_tokens), snapshot.states->size()));
  for (const Sequence::RowsAt& run : sequence.rows_at(0, sequence.n_computed()))
    blocks.push_back(SnapshotBlock::rows(static_cast<uint32_t>(run.first), run.rows.size_bytes()));
  return blocks;
}

// Puts what the file holds in place of the sequence's content.
Result<void> restore_from(Sequence& sequence, const SnapshotFile& file, std::string_view name) {
  Context& context = sequence.context();
  if (const std::string_view why = stored_mismatch(context, file); !why.empty())
    return file.refuse(SnapshotRefusal::damaged, why);
  if (file.n_usable() > context.options().n_ctx) {
    return fail(ErrorCode::invalid_argument,
                "{}: its {} tokens are more than the {} of the context; raise {}", name, file.n_usable(),
                context.options().n_ctx, Parameter::ctx_size);
  }
  StoredPages pages(context, file);
  const PrefixKey known = file.text();
  Sequence::Content content{.tokens = {known.tokens.begin(), known.tokens.end()},
                            .content = {known.content.begin(), known.content.end()},
                            .rows = {},
                            .snapshots = {}};
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < file.blocks().size(); ++i) {
    const SnapshotBlock& block = file.blocks()[i];
    bytes.resize(static_cast<size_t>(block.n_bytes));
    PARLANCE_CHECK(file.read(i, bytes));
    if (i < file.n_pages()) {
      const auto page = static_cast<int64_t>(i);
      if (page < pages.n_wanted()) PARLANCE_CHECK(pages.take(page, bytes));
    } else if (block.kind == SnapshotBlock::Kind::rows) {
      Sequence::EmbeddedRun& run = content.rows.emplace_back();
      run.first = block.n_tokens;
      run.rows.resize(bytes.size() / sizeof(float));
      std::memcpy(run.rows.data(), bytes.data(), bytes.size());
    } else if (block.n_tokens <= file.n_usable()) {
      content.snapshots.push_back({block.n_tokens, std::make_shared<const std::vector<std::byte>>(bytes)});
    }
  }
  sequence.replace(pages.finish(), std::move(content));
  return {};
}

// `target` is what SnapshotWriter::create() takes.
template <class Target>
Result<void> save_to(Target& target, Sequence& sequence, Runner& runner) {
  Context& context = sequence.context();
  if (sequence.has_noise()) {
    return fail(ErrorCode::unsupported,
                "a sequence with noise cannot be saved; nobody could compute it again");
  }
  if (sequence.wants_states()) {
    PARLANCE_TRY(StateCopy states, runner.save_states(sequence));
    sequence.add_snapshot(std::move(states));
  }
  const auto pages = sequence.pages().pages();
  const std::vector<SnapshotBlock> blocks = blocks_of(sequence);
  PARLANCE_TRY(auto writer, SnapshotWriter::create(target, context.snapshot_identity(),
                                                   sequence.key().first(sequence.n_computed()), blocks));
  std::vector<std::byte> bytes;
  const int64_t page_tokens = context.layout().page_tokens;
  for (size_t page = 0; page < pages.size(); ++page) {
    const int64_t n_held =
        std::min(page_tokens, sequence.n_computed() - static_cast<int64_t>(page) * page_tokens);
    bytes.resize(static_cast<size_t>(blocks[page].n_bytes));
    PARLANCE_CHECK(copy_page(context, pages[page], n_held, bytes));
    PARLANCE_CHECK(writer.write_block(bytes));
  }
  for (const Snapshot& snapshot : sequence.snapshots()) PARLANCE_CHECK(writer.write_block(*snapshot.states));
  for (const Sequence::RowsAt& run : sequence.rows_at(0, sequence.n_computed()))
    PARLANCE_CHECK(writer.write_block(std::as_bytes(run.rows)));
  return writer.commit();
}

}  // namespace

Result<void> save_sequence(Sequence& sequence, Runner& runner, const std::filesystem::path& path) {
  return save_to(path, sequence, runner);
}

Result<void> save_sequence(Sequence& sequence, Runner& runner, std::vector<std::byte>& memory) {
  return save_to(memory, sequence, runner);
}

Result<void> restore_sequence(Sequence& sequence, const std::filesystem::path& path,
                              const std::optional<PrefixKey>& text) {
  Context& context = sequence.context();
  PARLANCE_TRY(const SnapshotFile file,
               SnapshotFile::open(path, context.snapshot_identity(), text, context.snapshot_refusals()));
  return restore_from(sequence, file, path.string());
}

Result<void> restore_sequence(Sequence& sequence, std::span<const std::byte> bytes, std::string_view name) {
  Context& context = sequence.context();
  PARLANCE_TRY(const SnapshotFile file, SnapshotFile::parse(bytes, name, context.snapshot_identity(), {},
                                                            context.snapshot_refusals()));
  return restore_from(sequence, file, name);
}

}  // namespace parlance
