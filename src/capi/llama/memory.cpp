// What the sequences of a context hold: removed, copied, moved.
#include <algorithm>

#include "capi/llama/context.h"

namespace parlance::capi {

Result<void> LlamaContext::check_sequence(llama_seq_id seq) const {
  if (seq >= 0 && static_cast<uint32_t>(seq) < shape_.n_seq_max) return {};
  return fail(ErrorCode::invalid_argument, "there is no sequence {}; n_seq_max is {}", seq, shape_.n_seq_max);
}

// A place for it, where it holds nothing yet.
Result<SequenceText*> LlamaContext::open(llama_seq_id seq) {
  if (const auto known = sequences_.find(seq); known != sequences_.end()) return &known->second;
  PARLANCE_TRY(auto sequence, Sequence::open(context_));
  return &sequences_.emplace(seq, SequenceText(std::move(sequence))).first->second;
}

void LlamaContext::drop_if_empty(llama_seq_id seq) {
  const auto known = sequences_.find(seq);
  if (known != sequences_.end() && known->second.is_empty()) sequences_.erase(known);
}

void LlamaContext::clear() {
  changed();
  sequences_.clear();
}

Result<void> LlamaContext::remove(llama_seq_id seq, PosRange range) {
  changed();
  if (seq < 0) {
    for (llama_seq_id each = 0; each < static_cast<llama_seq_id>(shape_.n_seq_max); ++each)
      PARLANCE_CHECK(remove(each, range));
    return {};
  }
  PARLANCE_CHECK(check_sequence(seq));
  const auto known = sequences_.find(seq);
  if (known == sequences_.end()) return {};
  PARLANCE_CHECK(known->second.set_runs(outside(known->second.runs(), range)));
  drop_if_empty(seq);
  return {};
}

// What `to` held in the range goes.
Result<void> LlamaContext::copy(llama_seq_id from, llama_seq_id to, PosRange range) {
  PARLANCE_CHECK(check_sequence(from));
  PARLANCE_CHECK(check_sequence(to));
  if (from == to) return {};
  changed();
  const auto source = sequences_.find(from);
  const TokenRuns copied = source == sequences_.end() ? TokenRuns() : inside(source->second.runs(), range);
  if (copied.empty()) return {};
  auto target = sequences_.find(to);
  TokenRuns all = target == sequences_.end() ? TokenRuns() : outside(target->second.runs(), range);
  if (all.empty()) {  // pages are shared
    sequences_.erase(to);
    PARLANCE_TRY(SequenceText twin, fork_of(source->second));
    target = sequences_.emplace(to, std::move(twin)).first;
  }
  all.insert(all.end(), copied.begin(), copied.end());
  PARLANCE_TRY(all, joined(std::move(all)));
  return target->second.set_runs(std::move(all));
}

Result<void> LlamaContext::keep(llama_seq_id seq) {
  PARLANCE_CHECK(check_sequence(seq));
  changed();
  std::erase_if(sequences_, [seq](const auto& entry) { return entry.first != seq; });
  return {};
}

Result<void> LlamaContext::move(llama_seq_id seq, PosRange range, llama_pos delta) {
  if (seq < 0) {
    for (llama_seq_id each = 0; each < static_cast<llama_seq_id>(shape_.n_seq_max); ++each)
      PARLANCE_CHECK(move(each, range, delta));
    return {};
  }
  PARLANCE_CHECK(check_sequence(seq));
  const auto known = sequences_.find(seq);
  if (known == sequences_.end() || delta == 0) return {};
  changed();
  const TokenRuns held = known->second.runs();
  TokenRuns all = inside(held, range);
  for (TokenRun& run : all) {
    const int64_t first = int64_t{run.first} + delta;
    if (first < 0 || first > INT32_MAX / 2)
      return fail(ErrorCode::invalid_argument, "a token would stand at position {}", first);
    run.first = static_cast<llama_pos>(first);
  }
  const TokenRuns rest = outside(held, range);
  all.insert(all.end(), rest.begin(), rest.end());
  PARLANCE_TRY(all, joined(std::move(all)));
  return known->second.set_runs(std::move(all));
}

llama_pos LlamaContext::first_of(llama_seq_id seq) const {
  const auto known = sequences_.find(seq);
  return known == sequences_.end() ? -1 : known->second.first();
}

llama_pos LlamaContext::last_of(llama_seq_id seq) const {
  const auto known = sequences_.find(seq);
  return known == sequences_.end() ? -1 : known->second.end() - 1;
}

namespace {

bool in_memory(const char* function, llama_memory_t mem, auto&& body) {
  return with_llama_context(function, mem, false, [&](LlamaContext& context) -> Result<bool> {
    PARLANCE_CHECK(body(context));
    return true;
  });
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

void llama_memory_clear(llama_memory_t mem, bool) {
  in_memory(__func__, mem, [](LlamaContext& context) -> Result<void> {
    context.clear();
    return {};
  });
}

bool llama_memory_seq_rm(llama_memory_t mem, llama_seq_id seq_id, llama_pos p0, llama_pos p1) {
  return in_memory(__func__, mem,
                   [&](LlamaContext& context) { return context.remove(seq_id, PosRange::of(p0, p1)); });
}

void llama_memory_seq_cp(llama_memory_t mem, llama_seq_id seq_id_src, llama_seq_id seq_id_dst, llama_pos p0,
                         llama_pos p1) {
  in_memory(__func__, mem, [&](LlamaContext& context) {
    return context.copy(seq_id_src, seq_id_dst, PosRange::of(p0, p1));
  });
}

void llama_memory_seq_keep(llama_memory_t mem, llama_seq_id seq_id) {
  in_memory(__func__, mem, [&](LlamaContext& context) { return context.keep(seq_id); });
}

void llama_memory_seq_add(llama_memory_t mem, llama_seq_id seq_id, llama_pos p0, llama_pos p1,
                          llama_pos delta) {
  in_memory(__func__, mem,
            [&](LlamaContext& context) { return context.move(seq_id, PosRange::of(p0, p1), delta); });
}

llama_pos llama_memory_seq_pos_min(llama_memory_t mem, llama_seq_id seq_id) {
  return with_llama_context(__func__, mem, -1, [&](LlamaContext& context) -> Result<llama_pos> {
    return context.first_of(seq_id);
  });
}

llama_pos llama_memory_seq_pos_max(llama_memory_t mem, llama_seq_id seq_id) {
  return with_llama_context(
      __func__, mem, -1, [&](LlamaContext& context) -> Result<llama_pos> { return context.last_of(seq_id); });
}

bool llama_memory_can_shift(llama_memory_t mem) {
  return with_llama_context(__func__, mem, false, [](LlamaContext&) -> Result<bool> { return true; });
}
