#include "engine/stored_pages.h"

#include <algorithm>

#include "base/checked.h"
#include "base/parameter.h"

namespace parlance {

namespace {

PageKind stored_kind(PageRef page) {
  return page.exact >= 0 ? PageKind::exact : PageKind::main;
}

}  // namespace

SnapshotBlock page_block(const Context& context, PageRef page) {
  const PageKind kind = stored_kind(page);
  return SnapshotBlock::page(kind, context.page_bytes(kind));
}

Result<void> copy_page(Context& context, PageRef page, int64_t n_held, std::span<std::byte> bytes) {
  const PageKind kind = stored_kind(page);
  for (const auto& part : context.parts()) {
    for (KvCache* const cache : part->caches()) {
      const size_t size = cache->layout().page_bytes(kind);
      PARLANCE_CHECK(cache->save_page(part->stream(), kind, page[kind], n_held, bytes.first(size)));
      bytes = bytes.subspan(size);
    }
  }
  return {};
}

std::string_view stored_mismatch(const Context& context, const SnapshotFile& file) {
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

int64_t StoredPages::n_wanted() const {
  return div_up<int64_t>(file_.n_usable(), context_.layout().page_tokens);
}

Result<void> StoredPages::take(int64_t page, std::span<const std::byte> bytes) {
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

}  // namespace parlance
