// Sessions to and from files: the tokens, and the pages of their keys and values in the bytes of the cache.
#include <algorithm>
#include <filesystem>
#include <mutex>

#include "base/checked.h"
#include "engine/session.h"

namespace parlance {

// Which page of a position is stored: the exact one as long as there is one.
PageKind Session::stored_kind(size_t page) const {
  return pages_.pages()[page].exact >= 0 ? PageKind::exact : PageKind::main;
}

// The bytes of a page are those of all parts, one after the other.
Result<void> Session::save(const std::filesystem::path& path) {
  if (!context_->shares_prefixes()) {
    return fail(ErrorCode::unsupported, "{}: the states of recurrent layers cannot be saved",
                model().file().name());
  }
  if (n_computed_ > first_embedded_) {
    return fail(ErrorCode::unsupported,
                "a sequence with audio cannot be saved; its tokens do not tell what it was");
  }
  const std::lock_guard lock(context_->compute_mutex());
  const size_t n_pages = pages_.pages().size();
  std::vector<SnapshotBlock> blocks;
  for (size_t page = 0; page < n_pages; ++page) {
    blocks.push_back(
        SnapshotBlock::page(stored_kind(page), context_->layout().page_bytes(stored_kind(page))));
  }
  PARLANCE_TRY(auto writer,
               SnapshotWriter::create(path, context_->snapshot_identity(),
                                      std::span(tokens_).first(static_cast<size_t>(n_computed_)), blocks));
  std::vector<std::byte> bytes;
  const int64_t page_tokens = context_->layout().page_tokens;
  for (size_t page = 0; page < n_pages; ++page) {
    const PageKind kind = stored_kind(page);
    const int64_t n_held = std::min(page_tokens, n_computed_ - static_cast<int64_t>(page) * page_tokens);
    bytes.resize(blocks[page].n_bytes);
    std::span<std::byte> rest = bytes;
    for (const auto& part : context_->parts()) {
      const size_t size = part->cache().layout().page_bytes(kind);
      PARLANCE_CHECK(part->cache().save_page(part->stream(), kind, pages_.pages()[page][kind], n_held,
                                             rest.first(size)));
      rest = rest.subspan(size);
    }
    PARLANCE_CHECK(writer.write_block(bytes));
  }
  return writer.commit();
}

Result<void> Session::restore(const std::filesystem::path& path, std::span<const Token> tokens) {
  if (!context_->shares_prefixes()) {
    return fail(ErrorCode::unsupported, "{}: the states of recurrent layers cannot be restored",
                model().file().name());
  }
  PARLANCE_TRY(const SnapshotFile file, SnapshotFile::open(path, context_->snapshot_identity(), tokens,
                                                           context_->snapshot_refusals()));
  const KvLayout& layout = context_->layout();
  const auto n_pages = static_cast<size_t>(div_up<int64_t>(file.n_usable(), layout.page_tokens));
  const auto malformed = [&] {
    context_->snapshot_refusals().add(SnapshotRefusal::damaged);
    return fail(ErrorCode::corrupt_file, "{}: its blocks are not the pages of its tokens; delete it",
                path.string());
  };
  if (file.n_usable() > options_.n_ctx) return malformed();
  SequencePages restored(context_->pools(), layout.page_tokens);
  const std::lock_guard lock(context_->compute_mutex());
  for (size_t page = 0; page < n_pages; ++page) {
    auto [kind, bytes] = file.pages()[page];
    if ((kind == PageKind::exact && !options_.cache.has_exact_pages()) ||
        bytes.size() != layout.page_bytes(kind)) {
      return malformed();
    }
    const int64_t end = std::min(file.n_usable(), static_cast<int64_t>(page + 1) * layout.page_tokens);
    if (restored.extend(end, kind).outcome != SequencePages::Extension::done) {
      PageCounts wanted;
      wanted[kind] = 1;
      context_->tree().evict(wanted);
      if (restored.extend(end, kind).outcome != SequencePages::Extension::done) {
        return fail(ErrorCode::out_of_memory, "{}: its {} tokens do not fit the KV cache; raise --ctx-size",
                    path.string(), file.n_usable());
      }
    }
    for (const auto& part : context_->parts()) {
      const size_t size = part->cache().layout().page_bytes(kind);
      part->cache().restore_page(part->stream(), kind, restored.pages()[page][kind], bytes.first(size));
      bytes = bytes.subspan(size);
    }
  }
  for (const auto& part : context_->parts()) PARLANCE_CHECK(part->stream().synchronize());
  remember(n_computed_);
  pages_ = std::move(restored);
  tokens_.assign(tokens.begin(), tokens.begin() + file.n_usable());
  n_remembered_ = 0;
  cut_pages(file.n_usable());
  return {};
}

}  // namespace parlance
