// The pages of a context as blocks of a snapshot file (kv/snapshot_file.h). Whoever calls these has the
// devices to himself (Scheduler::Pause).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/context.h"
#include "kv/sequence_pages.h"
#include "kv/snapshot_file.h"

namespace parlance {

// What a file has of a page: the exact one as long as there is one.
SnapshotBlock page_block(const Context& context, PageRef page);

// Its bytes, as many as the block says, of which the first n_held positions count.
Result<void> copy_page(Context& context, PageRef page, int64_t n_held, std::span<std::byte> bytes);

// Why a file's blocks are not those of this context; empty: they are.
std::string_view stored_mismatch(const Context& context, const SnapshotFile& file);

// Makes room for the pages of a file that are of use, and fills one after the other.
class StoredPages {
 public:
  StoredPages(Context& context, const SnapshotFile& file)
      : context_(context), file_(file), pages_(context.pools(), context.layout().page_tokens) {}

  int64_t n_wanted() const;
  // The file's block of that page. Errors: no room in the cache.
  Result<void> take(int64_t page, std::span<const std::byte> bytes);
  SequencePages finish() { return std::move(pages_); }

 private:
  Context& context_;
  const SnapshotFile& file_;
  SequencePages pages_;
};

}  // namespace parlance
