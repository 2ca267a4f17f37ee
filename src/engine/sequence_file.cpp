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

// What a file holds of a sequence, in this order.
std::vector<SnapshotBlock> blocks_of(const Sequence& sequence) {
  const Context& context = sequence.context();
  std::vector<SnapshotBlock> blocks;
  for (const PageRef page : sequence.pages().pages())
    blocks.push_back(SnapshotBlock::page(stored_kind(page), context.page_bytes(stored_kind(page))));
  for (const Snapshot& snapshot : sequence.snapshots())
    blocks.push_back(
        SnapshotBlock::states(static_cast<uint32_t>(snapshot.n_tokens), snapshot.states->size()));
  for (const Sequence::RowsAt& run : sequence.rows_at(0, sequence.n_computed()))
    blocks.push_back(SnapshotBlock::rows(static_cast<uint32_t>(run.first), run.rows.size_bytes()));
  return blocks;
}

// Why a file's blocks are not those of a sequence of this context; empty: they are.
std::string_view mismatch(const Context& context, const SnapshotFile& file) {
  const size_t row_bytes = static_cast<size_t>(context.model().hyper_parameters().n_embd) * sizeof(float);
  const std::span<const int32_t> tokens = file.text().tokens;
  int64_t rows_end = 0, n_rows = 0;
  for (const SnapshotBlock& block : file.blocks()) {
    const auto first = static_cast<int64_t>(block.n_tokens);
    switch (block.kind) {
      case SnapshotBlock::Kind::main_page:
        if (block.n_bytes != context.page_bytes(PageKind::main)) return "a page has another size than here";
        break;
      case SnapshotBlock::Kind::exact_page:
        if (!context.options().cache.has_exact_pages()) return "it has exact pages, and this cache none";
        if (block.n_bytes != context.page_bytes(PageKind::exact)) return "a page has another size than here";
        break;
      case SnapshotBlock::Kind::rows: {
        const auto n = static_cast<int64_t>(block.n_bytes / row_bytes);
        if (block.n_bytes % row_bytes != 0 || first < rows_end || n == 0 || n > std::ssize(tokens) - first)
          return "its rows do not fit its tokens";
        rows_end = first + n;
        n_rows += n;
        const auto behind = tokens.subspan(static_cast<size_t>(first), static_cast<size_t>(n));
        if (count_content(behind) != n) return "its rows do not fit its tokens";
        break;
      }
      case SnapshotBlock::Kind::states:
        if (context.state_bytes() == 0 || block.n_bytes != context.state_bytes())
          return "its states have another size than here";
        break;
    }
  }
  if (n_rows != count_content(tokens)) return "rows of its sounds are missing";
  return {};
}

// Makes room for the pages of a file that are of use, and fills one after the other.
class PageReader {
 public:
  PageReader(Context& context, const SnapshotFile& file)
      : context_(context), file_(file), pages_(context.pools(), context.layout().page_tokens) {}

  int64_t n_wanted() const { return div_up<int64_t>(file_.n_usable(), context_.layout().page_tokens); }

  Result<void> take(int64_t page, std::span<const std::byte> bytes) {
    const PageKind kind = file_.blocks()[static_cast<size_t>(page)].kind == SnapshotBlock::Kind::main_page
                              ? PageKind::main
                              : PageKind::exact;
    const int64_t end = std::min(file_.n_usable(), (page + 1) * context_.layout().page_tokens);
    SequencePages::Extension room = pages_.extend(end, kind);
    if (room.outcome == SequencePages::Extension::no_room) {
      PageCounts wanted;
      wanted[kind] = static_cast<int32_t>(n_wanted() - page);
      context_.tree().evict(wanted);
      room = pages_.extend(end, kind);
    }
    if (room.outcome != SequencePages::Extension::done) {
      return fail(ErrorCode::out_of_memory, "the {} tokens of the file do not fit the KV cache; raise {}",
                  file_.n_usable(), Parameter::ctx_size);
    }
    for (const auto& part : context_.parts()) {
      for (KvCache* const cache : part->caches()) {
        const size_t size = cache->layout().page_bytes(kind);
        cache->restore_page(part->stream(), kind, pages_.pages()[static_cast<size_t>(page)][kind],
                            bytes.first(size));
        bytes = bytes.subspan(size);
      }
      // The stream may read the bytes until it has caught up.
      PARLANCE_CHECK(part->stream().synchronize());
    }
    return {};
  }

  SequencePages finish() { return std::move(pages_); }

 private:
  Context& context_;
  const SnapshotFile& file_;
  SequencePages pages_;
};

// Puts what the file holds in place of the sequence's content.
Result<void> restore_from(Sequence& sequence, const SnapshotFile& file, std::string_view name) {
  Context& context = sequence.context();
  if (const std::string_view why = mismatch(context, file); !why.empty())
    return file.refuse(SnapshotRefusal::damaged, why);
  if (file.n_usable() > context.options().n_ctx) {
    return fail(ErrorCode::invalid_argument,
                "{}: its {} tokens are more than the {} of the context; raise {}", name, file.n_usable(),
                context.options().n_ctx, Parameter::ctx_size);
  }
  PageReader pages(context, file);
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
    const PageKind kind = stored_kind(pages[page]);
    const int64_t n_held =
        std::min(page_tokens, sequence.n_computed() - static_cast<int64_t>(page) * page_tokens);
    bytes.resize(static_cast<size_t>(blocks[page].n_bytes));
    std::span<std::byte> rest = bytes;
    for (const auto& part : context.parts()) {
      for (KvCache* const cache : part->caches()) {
        const size_t size = cache->layout().page_bytes(kind);
        PARLANCE_CHECK(cache->save_page(part->stream(), kind, pages[page][kind], n_held, rest.first(size)));
        rest = rest.subspan(size);
      }
    }
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
