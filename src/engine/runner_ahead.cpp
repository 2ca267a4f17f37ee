// A step that is queued before it is known what the one before it yields.
#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "engine/context.h"
#include "engine/runner.h"
#include "engine/step_size.h"

namespace parlance {

namespace {

// Of a step that is queued before its tokens are known.
constexpr int64_t kMostAheadRows = 256;
static_assert(kMostAheadRows * (2 + 2 * kMostTopLogits) * sizeof(int32_t) <= Stream::kMostLater);

}  // namespace

bool Runner::may_go_ahead(std::span<const Slice> slices, Wanted wanted) const {
  if ((wanted != Wanted::tokens && wanted != Wanted::top) || !context_.goes_ahead()) return false;
  if (std::ssize(slices) > std::min(context_.parts().back()->most_alike_rows(), kMostAheadRows)) return false;
  return std::ranges::all_of(slices, [](const Slice& slice) {
    return slice.n_tokens == 1 && slice.n_outputs == 1 && slice.n_branch_tokens == 0 && slice.n_beside == 0 &&
           slice.sequence->has_room_behind(1);
  });
}

// Queues a step behind that of these slices, and then waits for what was told of this one's outputs.
Result<void> Runner::go_ahead(std::span<const Slice> slices, const HostBatch& batch, const Tensor& told,
                              std::span<const TokenDraw> draws, Outputs& outputs) {
  PartRunner& part = *context_.parts().back();
  Ahead ahead{.batch = batch};
  ahead.batch.draws.assign(draws.begin(), draws.end());
  ahead.batch.n_kv_bound = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    place(*slices[i].sequence);
    const int32_t position = ++ahead.batch.pos[i];
    ahead.batch.token[i] = 0;
    ahead.batch.n_kv_bound = std::max(ahead.batch.n_kv_bound, int64_t{position} + 1);
    ahead.rows.push_back({slices[i].sequence, position, 0});
  }
  ahead.batch.n_kv_bound = align_up(ahead.batch.n_kv_bound, kBoundStride);
  ahead.told = part.step_behind(ahead.batch, told);

  std::vector<int32_t>& words = batch.wanted == Wanted::top ? outputs.top : outputs.tokens;
  outputs = {};
  words.resize(static_cast<size_t>(told.n_elements()) + slices.size());
  if (batch.wanted == Wanted::top) n_top_words_ = told.ne[0];
  PARLANCE_CHECK(part.stream().end_download(std::as_writable_bytes(std::span(words))));
  for (size_t i = slices.size(); i-- > 0; words.pop_back()) ahead.rows[i].token = words.back();
  if (ahead.told) ahead_ = std::move(ahead);
  return {};
}

Result<bool> Runner::run_ahead(std::span<const size_t> rows, std::span<const Slice> slices,
                               std::span<const Cancellation> tickets, std::span<const TokenDraw> draws) {
  PartRunner& part = *context_.parts().back();
  const CancellableWork work(part.stream(), tickets);
  const Ahead now = std::exchange(ahead_, {});
  const Wanted wanted = now.batch.wanted;
  n_ahead_ += rows.size();
  n_in_vain_ += now.rows.size() - rows.size();
  if (!draws.empty() && rows.size() == now.rows.size() && may_go_ahead(slices, wanted)) {
    PARLANCE_CHECK(go_ahead(slices, now.batch, now.told, draws, outputs_));
  } else {
    PARLANCE_CHECK(download_outputs(part, now.told, wanted, outputs_));
    outputs_.keep_rows(rows, std::ssize(now.rows));
  }
  return !part.stream().cancelled();
}

void Runner::forget_ahead(const Sequence& sequence) {
  for (AheadRow& row : ahead_.rows) {
    if (row.sequence == &sequence) row.sequence = nullptr;
  }
}

// What it writes lies where nothing is known to be.
void Runner::drop_ahead() {
  n_in_vain_ += ahead_.rows.size();
  ahead_ = {};
}

// Of n_all rows of tokens, or of the highest logits, some in ascending order.
void Runner::Outputs::keep_rows(std::span<const size_t> rows, int64_t n_all) {
  for (std::vector<int32_t>* const words : {&tokens, &top}) {
    const size_t row = words->size() / static_cast<size_t>(n_all);
    for (size_t i = 0; i < rows.size(); ++i)
      std::copy_n(words->begin() + static_cast<ptrdiff_t>(rows[i] * row), row,
                  words->begin() + static_cast<ptrdiff_t>(i * row));
    words->resize(rows.size() * row);
  }
}

}  // namespace parlance
