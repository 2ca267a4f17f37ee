#include "engine/known_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "engine/stored_pages.h"

namespace parlance {

namespace {

// Pages that are copied while steps wait: some milliseconds' worth.
constexpr size_t kCopiedBytes = size_t{8} << 20;

// What the tree has found, held as long as it lives.
class HeldMatch {
 public:
  HeldMatch(Context& context, const PrefixKey& text)
      : pools_(context.pools()), match_(context.tree().match(text)) {}
  ~HeldMatch() {
    for (const PageRef page : match_.pages) pools_.release(page);
  }
  HeldMatch(const HeldMatch&) = delete;
  HeldMatch& operator=(const HeldMatch&) = delete;
  const PrefixMatch* operator->() const { return &match_; }

 private:
  PagePools& pools_;
  const PrefixMatch match_;
};

uint64_t bytes_of(std::span<const SnapshotBlock> blocks) {
  uint64_t n = 0;
  for (const SnapshotBlock& block : blocks) n += block.n_bytes;
  return n;
}

}  // namespace

int64_t count_known(Context& context, const PrefixKey& text) {
  return HeldMatch(context, text)->n_tokens;
}

Result<StoredText> save_known(Context& context, const PrefixKey& text, const std::filesystem::path& path) {
  { const Scheduler::Pause settled(context.scheduler()); }  // an answer is remembered when its step is over
  const HeldMatch known(context, text);
  if (known->n_tokens == 0) {
    return fail(ErrorCode::not_found, "{}: nothing of the text is in the cache any more; it was not saved",
                path.filename().string());
  }
  std::vector<SnapshotBlock> blocks;
  for (const PageRef page : known->pages) blocks.push_back(page_block(context, page));
  if (known->states) {
    blocks.push_back(SnapshotBlock::states(static_cast<uint32_t>(known->n_tokens), known->states->size()));
  }
  PARLANCE_TRY(auto writer, SnapshotWriter::create(path, context.snapshot_identity(),
                                                   text.first(known->n_tokens), blocks));
  const int64_t page_tokens = context.layout().page_tokens;
  std::vector<std::byte> bytes;
  for (size_t done = 0; done < known->pages.size();) {
    size_t end = done, n_bytes = 0;
    while (end < known->pages.size() && (end == done || n_bytes < kCopiedBytes))
      n_bytes += blocks[end++].n_bytes;
    bytes.resize(n_bytes);
    std::span<std::byte> rest = bytes;
    {
      const Scheduler::Pause pause(context.scheduler());
      for (size_t page = done; page < end; ++page) {
        const int64_t n_held =
            std::min(page_tokens, known->n_tokens - static_cast<int64_t>(page) * page_tokens);
        const std::span<std::byte> own = rest.first(blocks[page].n_bytes);
        PARLANCE_CHECK(copy_page(context, known->pages[page], n_held, own));
        rest = rest.subspan(own.size());
      }
    }
    for (std::span<const std::byte> written = bytes; done < end; ++done) {
      PARLANCE_CHECK(writer.write_block(written.first(blocks[done].n_bytes)));
      written = written.subspan(blocks[done].n_bytes);
    }
  }
  if (known->states) PARLANCE_CHECK(writer.write_block(*known->states));
  PARLANCE_CHECK(writer.commit());
  return StoredText{.n_tokens = known->n_tokens, .n_bytes = bytes_of(blocks)};
}

Result<RestoredText> restore_known(Context& context, const std::filesystem::path& path,
                                   const std::optional<PrefixKey>& text, const Sharing& sharing) {
  PARLANCE_TRY(const SnapshotFile file,
               SnapshotFile::open(path, context.snapshot_identity(), text, context.snapshot_refusals()));
  if (const std::string_view why = stored_mismatch(context, file); !why.empty())
    return file.refuse(SnapshotRefusal::damaged, why);
  const PrefixKey own = file.text();
  const PrefixKey known = PrefixKey(own.tokens, own.content, sharing.space).first(file.n_usable());
  if (text && count_known(context, known) >= file.n_usable()) {
    return RestoredText{.tokens = {known.tokens.begin(), known.tokens.end()}, .n_bytes = 0};
  }
  StoredPages pages(context, file);
  std::vector<std::pair<int64_t, StateCopy>> states;
  std::vector<std::byte> bytes;
  for (size_t done = 0; done < file.blocks().size();) {
    size_t end = done, n_bytes = 0;
    while (end < file.blocks().size() && (end == done || n_bytes < kCopiedBytes))
      n_bytes += file.blocks()[end++].n_bytes;
    bytes.resize(n_bytes);
    std::span<std::byte> rest = bytes;
    for (size_t i = done; i < end; ++i) {
      const std::span<std::byte> block = rest.first(file.blocks()[i].n_bytes);
      PARLANCE_CHECK(file.read(i, block));
      rest = rest.subspan(block.size());
    }
    rest = bytes;
    {
      const Scheduler::Pause pause(context.scheduler());
      for (; done < end; ++done) {
        const SnapshotBlock& block = file.blocks()[done];
        const std::span<std::byte> content = rest.first(block.n_bytes);
        rest = rest.subspan(content.size());
        if (done < file.n_pages()) {
          const auto page = static_cast<int64_t>(done);
          if (page < pages.n_wanted()) PARLANCE_CHECK(pages.take(page, content));
        } else if (block.kind == SnapshotBlock::Kind::states && block.n_tokens <= file.n_usable()) {
          states.emplace_back(block.n_tokens,
                              std::make_shared<const std::vector<std::byte>>(content.begin(), content.end()));
        }
      }
    }
  }
  SequencePages filled = pages.finish();
  filled.publish(context.tree(), known, sharing.prefix_class);
  for (auto& [n_tokens, copy] : states)
    (void)context.tree().insert_states(known.first(n_tokens), std::move(copy));
  return RestoredText{.tokens = {known.tokens.begin(), known.tokens.end()},
                      .n_bytes = bytes_of(file.blocks())};
}

}  // namespace parlance
