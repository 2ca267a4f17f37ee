#include "engine/runner.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/checked.h"
#include "engine/context.h"
#include "engine/step_size.h"

namespace parlance {

bool Runner::prepare(const Slice& slice) {
  Sequence& sequence = *slice.sequence;
  const Sequence::Compression compression = sequence.pages_to_compress();
  for (const auto& part : context_.parts()) {
    for (KvCache* const cache : part->caches()) cache->compress(part->stream(), compression.moves);
  }
  if (!compression.has_room) return false;
  sequence.compressed(!compression.moves.empty());
  const SequencePages::Extension room = sequence.make_room(slice.n_tokens);
  if (room.outcome != SequencePages::Extension::done) return false;
  if (room.copy) {
    for (const auto& part : context_.parts()) {
      for (KvCache* const cache : part->caches()) cache->copy_page(part->stream(), *room.copy);
    }
  }
  return true;
}

// Tells the devices where the sequence's memory is.
void Runner::place(Sequence& sequence) {
  const Sequence::PageTable table = sequence.page_table();
  const int beside = context_.row_beside(sequence.slot());
  for (const auto& part : context_.parts()) {
    for (KvCache* const cache : part->caches()) {
      cache->set_pages(sequence.slot(), table.pages, table.main_first, table.main_end);
      if (beside >= 0) cache->set_pages(beside, table.pages, table.main_first, table.main_end);
      for (const Sequence::Branch& branch : sequence.branches()) {
        const Sequence::PageTable own = sequence.page_table(branch);
        cache->set_pages(branch.slot, own.pages, own.main_first, own.main_end);
      }
    }
  }
  const StateCopy states = sequence.states_to_restore();
  if (!states) return;
  std::span<const std::byte> bytes = *states;
  for (const auto& part : context_.parts()) {
    part->restore_states(sequence.slot(), bytes.first(part->state_bytes()));
    bytes = bytes.subspan(part->state_bytes());
  }
  sequence.states_restored();
}

// Each of the slices' sequences may begin a page in the next step, all of them at once: their memory is taken
// from the system before, a little in each step. A large piece of a prompt alone has nobody who waits for its
// steps.
void Runner::take_memory_ahead(std::span<const Slice> slices) {
  const int64_t page_tokens = context_.layout().page_tokens;
  int64_t n_pages = 0, n_tokens = 0;
  bool is_awaited = false;
  for (const Slice& slice : slices) {
    n_pages += div_up(slice.n_tokens, page_tokens);
    n_tokens += slice.n_tokens;
    is_awaited |= slice.n_tokens <= page_tokens;
  }
  if (is_awaited) take_memory_ahead(n_pages, n_tokens);
}

// Of so many pages that are begun next, a little: as much as so many tokens need.
void Runner::take_memory_ahead(int64_t n_pages, int64_t n_tokens) {
  for (const PageKind kind : kPageKinds) {
    const PagePool::Range pages = context_.pools()[kind].new_among_next(n_pages);
    for (const auto& part : context_.parts()) {
      for (KvCache* const cache : part->caches())
        cache->take_memory_ahead(part->stream(), kind, pages, n_tokens);
    }
  }
}

// Each token once, in a row of the branch that it belongs to. What a branch has in common with those that it
// leaves is copied into its own pages, from the page on that the next position lies in, wherever it is
// computed.
void Runner::add_branches(const Sequence& sequence, int64_t page_tokens, HostBatch& batch) {
  const int64_t first = sequence.first_drafted();
  const auto branches = sequence.branches();
  for (const Sequence::Branch& branch : branches) {
    for (int64_t i = 0; i < std::ssize(branch.way.tokens); ++i) {
      batch.output_row.push_back(static_cast<int32_t>(batch.n_tokens()));
      batch.token.push_back(branch.way.tokens[static_cast<size_t>(i)]);
      batch.seq.push_back(branch.slot);
      batch.pos.push_back(static_cast<int32_t>(first + branch.way.place + i));
      batch.state_from.push_back(0);
      batch.state_to.push_back(0);
    }
    const int64_t n_whole = sequence.n_computed() - sequence.n_computed() % page_tokens;
    const Sequence::Branch* from = &branch;
    while (from) {
      const int64_t end = first + from->way.place;
      from = from->way.parent < 0 ? nullptr : &branches[static_cast<size_t>(from->way.parent)];
      const int64_t begin = from ? first + from->way.place : n_whole;
      for (const int64_t value :
           {int64_t{from ? from->slot : sequence.slot()}, int64_t{branch.slot}, begin, end - begin})
        batch.copies.push_back(static_cast<int32_t>(value));
    }
    batch.n_kv_bound = std::max(batch.n_kv_bound, first + branch.way.end());
  }
}

HostBatch Runner::batch_of(std::span<const Slice> slices) const {
  HostBatch batch;
  for (const Slice& slice : slices) {
    const Sequence& sequence = *slice.sequence;
    const int64_t first = sequence.n_computed();
    const int64_t first_row = batch.n_tokens();
    const Sequence::StateWay states = sequence.state_way(slice.n_tokens);
    for (int64_t i = 0; i < slice.n_tokens; ++i) {
      batch.token.push_back(std::max<Token>(sequence.tokens()[static_cast<size_t>(first + i)], 0));
      const bool is_beside = i >= slice.n_tokens - slice.n_beside;
      batch.seq.push_back(is_beside ? context_.row_beside(sequence.slot()) : sequence.slot());
      batch.pos.push_back(static_cast<int32_t>(first + i));
      batch.state_from.push_back(static_cast<int32_t>(states.from));
      batch.state_to.push_back(static_cast<int32_t>(states.to));
      if (i >= slice.n_rows() - slice.n_outputs)
        batch.output_row.push_back(static_cast<int32_t>(first_row + i));
    }
    for (const Sequence::RowsAt& run : sequence.rows_at(first, slice.n_tokens))
      batch.embedded.push_back({first_row + run.first - first, run.rows});
    batch.n_kv_bound = std::max(batch.n_kv_bound, first + slice.n_tokens);
    if (slice.n_branch_tokens > 0) add_branches(sequence, context_.layout().page_tokens, batch);
  }
  batch.n_kv_bound = align_up(batch.n_kv_bound, kBoundStride);
  return batch;
}

int64_t Runner::most_alike_rows() const {
  return context_.most_alike_rows();
}

// Which slices may be computed together, so that nobody's numbers depend on the others: see
// Device::most_alike_rows().
std::vector<std::vector<size_t>> Runner::groups_of(std::span<const Slice> slices) const {
  const int64_t most = most_alike_rows();
  std::vector<std::vector<size_t>> groups, large;
  int64_t n_rows = most;  // of the last group
  for (size_t i = 0; i < slices.size(); ++i) {
    const int64_t n = slices[i].n_rows();
    if (n > most) {
      large.push_back({i});
      continue;
    }
    if (groups.empty() || n_rows > most - n) {
      groups.emplace_back();
      n_rows = 0;
    }
    groups.back().push_back(i);
    n_rows += n;
  }
  groups.insert(groups.end(), large.begin(), large.end());
  return groups;
}

namespace {

// What is little is here sooner when it comes as what is waited for later does.
Result<void> download_words(Stream& stream, const Tensor& from, std::vector<int32_t>& words) {
  words.resize(static_cast<size_t>(from.n_elements()));
  const auto bytes = std::as_writable_bytes(std::span(words));
  if (bytes.empty() || bytes.size() > Stream::kMostLater) return stream.download(bytes, from);
  stream.begin_download(from);
  return stream.end_download(bytes);
}

}  // namespace

// The floats or tokens of a tensor, or nothing of an absent one, which tells whether the device failed.
Result<void> Runner::Outputs::download(Stream& stream, const Tensor& from) {
  tokens.clear();
  top.clear();
  const bool has_tokens = from && from.dtype == DType::i32;
  if (!from || has_tokens) rows.clear();
  if (!from) return stream.synchronize();
  const auto n = static_cast<size_t>(from.n_elements());
  if (has_tokens) {
    PARLANCE_CHECK(download_words(stream, from, tokens));
    if (from.ne[0] == 1) return {};
    for (size_t i = 0; i < n / 2; ++i) {  // each with its probability
      rows.push_back(std::bit_cast<float>(tokens[2 * i + 1]));
      tokens[i] = tokens[2 * i];
    }
    tokens.resize(n / 2);
    return {};
  }
  rows.resize(n);  // those of the step before are written over: clearing a vocabulary takes long
  return stream.download(std::as_writable_bytes(std::span(rows)), from);
}

Result<void> Runner::Outputs::download_top(Stream& stream, const Tensor& from) {
  rows.clear();
  tokens.clear();
  return download_words(stream, from, top);
}

// Behind the model's last layer.
Result<void> Runner::download_outputs(PartRunner& part, const Tensor& from, Wanted wanted, Outputs& outputs) {
  if (wanted == Wanted::logits && from) n_whole_rows_ += static_cast<uint64_t>(from.n_rows());
  if (wanted != Wanted::top || !from) return outputs.download(part.stream(), from);
  n_top_words_ = from.ne[0];
  return outputs.download_top(part.stream(), from);
}

int64_t Runner::n_top() const {
  return outputs_.top.empty() ? 0 : std::ssize(outputs_.top) / n_top_words_;
}

std::optional<TopLogits> Runner::top(int64_t output) const {
  const std::span<const int32_t> told(outputs_.top.data() + output * n_top_words_,
                                      static_cast<size_t>(n_top_words_));
  if (told[0] < 0) return std::nullopt;
  const auto n = static_cast<size_t>(told[0]);
  const std::span<const float> logits(reinterpret_cast<const float*>(told.data() + 2 + n), n);
  const auto n_vocab = static_cast<size_t>(context_.parts().back()->logits().ne[0]);
  return TopLogits{.tokens = told.subspan(2, n),
                   .logits = logits,
                   .last_token = told[1 + n],
                   .last_logit = logits.back(),
                   .highest = logits.front(),
                   .sum = std::bit_cast<float>(told[1]),
                   .n_vocab = n_vocab,
                   .has_all = n == n_vocab};
}

Result<std::span<const float>> Runner::logits(int64_t first, int64_t n) {
  assert(ahead_.rows.empty() && "another step was made");
  PartRunner& part = *context_.parts().back();
  const Tensor rows = part.logits().rows(first, n);
  logits_.resize(static_cast<size_t>(rows.n_elements()));
  n_whole_rows_ += static_cast<uint64_t>(n);
  PARLANCE_CHECK(part.stream().download(std::as_writable_bytes(std::span(logits_)), rows));
  return std::span<const float>(logits_);
}

// Rows [n_before, n_before + n) of n_all.
void Runner::Outputs::append(const Outputs& from, int64_t n_before, int64_t n, int64_t n_all) {
  const auto take = [&](auto& to, const auto& all) {
    const int64_t row = std::ssize(all) / n_all;
    to.insert(to.end(), all.begin() + n_before * row, all.begin() + (n_before + n) * row);
  };
  if (n == 0) return;
  take(rows, from.rows);
  take(tokens, from.tokens);
}

Result<bool> Runner::run(std::span<const Slice> slices, Wanted wanted, std::span<const Cancellation> tickets,
                         std::span<const TokenDraw> draws) {
  drop_ahead();
  for (const Slice& slice : slices) place(*slice.sequence);
  take_memory_ahead(slices);
  const auto groups = groups_of(slices);
  if (groups.size() == 1) {
    PARLANCE_TRY(const bool done, run_together(slices, wanted, tickets, draws));
    std::swap(outputs_, group_outputs_);
    return done;
  }
  if (wanted == Wanted::top) wanted = Wanted::logits;  // those of a group are gone when the next is computed
  std::vector<Outputs> outputs(slices.size());
  for (const auto& group : groups) {
    std::vector<Slice> together;
    int64_t n_outputs = 0, n_before = 0;
    for (const size_t i : group) {
      together.push_back(slices[i]);
      n_outputs += slices[i].n_outputs;
    }
    PARLANCE_TRY(const bool done, run_together(together, wanted, tickets));
    if (!done) return false;
    for (const size_t i : group) {
      outputs[i].append(group_outputs_, n_before, slices[i].n_outputs, n_outputs);
      n_before += slices[i].n_outputs;
    }
  }
  outputs_ = {};
  for (const Outputs& own : outputs) outputs_.append(own, 0, 1, 1);
  return true;
}

// Leaves the outputs in group_outputs_.
Result<bool> Runner::run_together(std::span<const Slice> slices, Wanted wanted,
                                  std::span<const Cancellation> tickets, std::span<const TokenDraw> draws) {
  HostBatch batch = batch_of(slices);
  batch.wanted = wanted;
  for (const auto& part : context_.parts()) {
    const CancellableWork work(part->stream(), tickets);
    const bool is_first = part == context_.parts().front(), is_last = part == context_.parts().back();
    const PartRunner::Before before{h_.rows, features_.rows};
    const Tensor result = part->step(batch, is_first ? PartRunner::Before{} : before);
    if (part->stream().cancelled()) return false;
    if (is_last && result && !draws.empty() && may_go_ahead(slices, wanted)) {
      PARLANCE_CHECK(go_ahead(slices, batch, result, draws, group_outputs_));
    } else if (is_last) {
      PARLANCE_CHECK(download_outputs(*part, result, wanted, group_outputs_));
    } else {
      PARLANCE_CHECK(h_.download(part->stream(), result));
      PARLANCE_CHECK(features_.download(part->stream(), part->features(batch.n_tokens())));
    }
    if (part->stream().cancelled()) return false;
  }
  return true;
}

bool Runner::is_through(const PausedSlice& paused) const {
  return paused.n_layers == context_.model().model().placement().last().end_layer;
}

Result<bool> Runner::run_layers(PausedSlice& paused, int64_t n, int64_t n_others,
                                const Cancellation& ticket) {
  drop_ahead();
  PartRunner& part = *context_.parts().front();
  const int64_t n_layer = context_.model().model().placement().last().end_layer;
  const int64_t n_tokens = paused.slice.n_tokens;
  const LayerRange layers{0, paused.n_layers, paused.n_layers + std::min(n, n_layer - paused.n_layers)};
  place(*paused.slice.sequence);
  take_memory_ahead(div_up<int64_t>(n_tokens, context_.layout().page_tokens) + n_others,
                    div_up(n_tokens * (layers.end_layer - layers.first_layer), n_layer));
  HostBatch batch = batch_of({&paused.slice, 1});
  batch.wanted = paused.wanted;
  const CancellableWork work(part.stream(), {&ticket, 1});
  const Tensor result = part.step(batch, {.h = paused.h, .features = {}}, layers);
  if (part.stream().cancelled()) return false;
  paused.n_layers = layers.end_layer;
  if (is_through(paused)) {
    PARLANCE_CHECK(download_outputs(part, result, paused.wanted, outputs_));
  } else {
    PARLANCE_CHECK(h_.download(part.stream(), result));
    std::swap(paused.h, h_.rows);
  }
  return !part.stream().cancelled();
}

Result<bool> Runner::draft(std::span<const Block> blocks, Wanted wanted,
                           std::span<const Cancellation> tickets, int64_t n_choices) {
  drop_ahead();
  PartRunner& part = *context_.parts().back();
  const DflashParameters& drafter = context_.options().drafter->parameters();
  HostBlocks host;
  host.n_choices = wanted == Wanted::tokens ? n_choices : 0;
  for (const Block& block : blocks) {
    Sequence& sequence = *block.sequence;
    place(sequence);
    const auto first = static_cast<int32_t>(sequence.n_computed());
    const int64_t first_slot = host.n_slots();
    for (int32_t i = 0; i < static_cast<int32_t>(block.n_slots); ++i) {
      host.token.push_back(i == 0 ? sequence.tokens().back() : drafter.mask_token);
      host.seq.push_back(sequence.slot());
      host.pos.push_back(first + i);
      host.seen.push_back(first + static_cast<int32_t>(block.n_slots) - 1);
      host.first.push_back(static_cast<int32_t>(std::max<int64_t>(0, first + i + 1 - drafter.window)));
      if (i > 0 && i <= block.n_wanted) host.row.push_back(static_cast<int32_t>(first_slot + i));
    }
    host.n_kv_bound = std::max(host.n_kv_bound, first + block.n_slots);
  }
  host.n_kv_bound = align_up(host.n_kv_bound, kBoundStride);
  const CancellableWork work(part.stream(), tickets);
  const Tensor result = part.draft(host);
  if (part.stream().cancelled()) return false;
  PARLANCE_CHECK(outputs_.download(part.stream(), result));
  return !part.stream().cancelled();
}

Result<StateCopy> Runner::save_states(const Sequence& sequence) {
  auto copy = std::make_shared<std::vector<std::byte>>(context_.state_bytes());
  std::span<std::byte> bytes = *copy;
  for (const auto& part : context_.parts()) {
    PARLANCE_CHECK(part->save_states(sequence.slot(), bytes.first(part->state_bytes())));
    bytes = bytes.subspan(part->state_bytes());
  }
  return copy;
}

Result<void> Runner::write_noise(const Slice& slice, std::span<const float> noise) {
  drop_ahead();  // its lists are written over
  place(*slice.sequence);
  const HostBatch batch = batch_of({&slice, 1});
  for (const auto& part : context_.parts()) PARLANCE_CHECK(part->write_noise(batch, noise));
  return {};
}

}  // namespace parlance
