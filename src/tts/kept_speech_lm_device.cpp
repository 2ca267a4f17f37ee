// Passes whose codes the device decides. All that differs from pass to pass goes there in one piece, and the
// codes of a block come back; passes of few shapes are recorded.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "base/parameter.h"
#include "kernels/fused_ops.h"
#include "tts/kept_columns.h"
#include "tts/kept_speech_lm.h"
#include "tts/maskgit.h"

namespace parlance {

namespace {

// Of larger passes, operations take longer than it takes to queue them.
constexpr int64_t kMostRecordedColumns = 192;

// Columns that attention takes at once, and alike ones (Device::most_alike_rows()) that passes have more
// than.
constexpr int64_t kAttendedAtOnce = 64, kMostAlike = 64;

constexpr size_t kUnit = Arena::kAlignment / sizeof(int32_t);
constexpr size_t kMoveInts = sizeof(BlockMove) / sizeof(int32_t);
static_assert(sizeof(BlockMove) % sizeof(int32_t) == 0);

}  // namespace

// Offsets in numbers. Codes and move are one piece, which comes back.
struct KeptSpeechLm::InputPlaces {
  size_t text, audio, pos, seq, end, seen, shared, shared_pos, shared_seq, asked, codes, move, n;

  InputPlaces(const PassShape& shape, int64_t n_codebook) {
    size_t used = 0;
    const auto take = [&](int64_t n) {
      const size_t at = used;
      used = align_up(used + static_cast<size_t>(n), kUnit);
      return at;
    };
    const int64_t n_columns = shape.n_text + shape.n_audio;
    text = take(shape.n_text);
    audio = take(shape.n_audio * n_codebook);
    pos = take(n_columns);
    seq = take(n_columns);
    end = take(n_columns);
    seen = take(n_columns);
    shared = take(shape.n_shared);
    shared_pos = take(shape.n_shared);
    shared_seq = take(shape.n_shared);
    asked = take(shape.n_asked);
    codes = take(shape.n_block * n_codebook);
    move = take(static_cast<int64_t>(kMoveInts));
    n = used;
  }
};

Result<void> KeptSpeechLm::make_device_room(int64_t room) {
  const int64_t n_logits = parameters().n_codebook * parameters().n_audio_vocab;
  const PassShape largest{.n_text = room,
                          .n_audio = 2 * room + most_unseen(),
                          .n_shared = 2 * room,
                          .n_asked = 2 * room + most_unseen(),
                          .n_block = room,
                          .least_of_row = 0,
                          .most_of_row = 0,
                          .is_guided = false,
                          .takes_unconditional = false,
                          .keeps_guidance = false,
                          .has_marginals = false,
                          .may_end = false};
  const InputPlaces places(largest, parameters().n_codebook);
  passes_.clear();
  reserved_ = {};
  PARLANCE_TRY(device_inputs_, device_.allocate(places.n * sizeof(int32_t)));
  PARLANCE_TRY(guidance_, device_.allocate(static_cast<size_t>(room * n_logits) * sizeof(float)));
  return {};
}

// Columns that a pass should have: devices multiply pieces of prompts, of more columns than they compute each
// as if it were alone, by kernels that are faster than those for the most of these.
int64_t KeptSpeechLm::least_columns() const {
  constexpr int64_t kColumnUnit = 8;
  const int64_t most_alike = device_.most_alike_rows(DType::f16);
  if (most_alike > kMostAlike) return 0;
  const int64_t more = align_up(most_alike + 1, kColumnUnit);
  return fuses_rows(*stream_, more) ? more : 0;
}

bool KeptSpeechLm::has_one_unconditional() const {
  return least_columns() == 0;
}

// What pad() adds at most.
int64_t KeptSpeechLm::most_unseen() const {
  return least_columns() > 0 ? least_columns() + kAttendedAtOnce : 0;
}

// Adds columns where there are too few. A row that another one follows gets as many as attention takes at
// once, so that a block of its kernel has no rows of both. The other one gets a half of least_columns() at
// least: few rows would be taken for drafts of an answer.
void KeptSpeechLm::pad(Columns& columns) const {
  const int64_t n = columns.n(), n_first = columns.n_of(Columns::kConditional), n_second = n - n_first;
  if (n >= least_columns()) return;
  const bool has_both = n_second > 0;
  const int64_t n_to_first =
      has_both ? align_up(n_first, kAttendedAtOnce) - n_first : least_columns() - n_first;
  columns.add_unseen(n_first, n_to_first, parameters().n_audio_vocab);
  if (has_both) {
    columns.add_unseen(columns.n(), std::max<int64_t>(least_columns() / 2 - n_second, 0),
                       parameters().n_audio_vocab);
  }
}

Tensor KeptSpeechLm::input_at(size_t offset, int64_t n0, int64_t n1) const {
  Tensor tensor;
  tensor.dtype = DType::i32;
  tensor.ne = {n0, n1, 1, 1};
  tensor.buffer = device_inputs_.get();
  tensor.data = device_inputs_->base() + offset * sizeof(int32_t);
  return tensor;
}

void KeptSpeechLm::write_inputs(const Columns& columns, std::span<const int32_t> codes,
                                const KeptBlock& block, const BlockMove& move, const InputPlaces& places) {
  const OmniVoiceParameters& hp = parameters();
  numbers_.assign(places.n, 0);
  const auto write = [&](const std::vector<int32_t>& values, size_t at) {
    std::ranges::copy(values, numbers_.begin() + static_cast<ptrdiff_t>(at));
  };
  write(columns.text, places.text);
  for (size_t k = 0; k < columns.audio.size(); ++k)
    write(columns.audio[k], places.audio + k * columns.audio[k].size());
  write(columns.pos, places.pos);
  write(columns.seq, places.seq);
  write(columns.end, places.end);
  write(columns.seen.empty() ? columns.seq : columns.seen, places.seen);
  write(columns.shared, places.shared);
  write(columns.shared_pos, places.shared_pos);
  write(columns.shared_seq, places.shared_seq);
  write(columns.asked, places.asked);
  size_t at = places.codes;
  for (int64_t k = 0; k < hp.n_codebook; ++k) {
    for (int64_t t = block.first; t < block.end; ++t)
      numbers_[at++] =
          static_cast<int32_t>(k * hp.n_audio_vocab) + codes[static_cast<size_t>(k * n_target_ + t)];
  }
  std::memcpy(numbers_.data() + places.move, &move, sizeof move);
  stream_->upload(input_at(0, static_cast<int64_t>(places.n)), std::as_bytes(std::span(numbers_)));
}

OmniVoiceColumns KeptSpeechLm::placed_inputs(const PassShape& shape, const InputPlaces& places) const {
  const int64_t n_columns = shape.n_text + shape.n_audio;
  OmniVoiceColumns placed;
  if (shape.n_text > 0) placed.text = input_at(places.text, shape.n_text);
  placed.audio = input_at(places.audio, shape.n_audio, parameters().n_codebook);
  placed.pos = input_at(places.pos, n_columns);
  placed.seq = input_at(places.seq, n_columns);
  placed.end = input_at(places.end, n_columns);
  placed.seen = input_at(places.seen, n_columns);
  placed.n_kv_bound = room_;
  placed.least_of_row = shape.least_of_row;
  placed.most_of_row = shape.most_of_row;
  if (shape.n_shared > 0) {
    placed.shared = {.columns = input_at(places.shared, shape.n_shared),
                     .pos = input_at(places.shared_pos, shape.n_shared),
                     .seq = input_at(places.shared_seq, shape.n_shared)};
  }
  placed.asked.columns = input_at(places.asked, shape.n_asked);
  return placed;
}

void KeptSpeechLm::compute(const PassShape& shape, const InputPlaces& places, const KvLayers& kv) {
  const Tensor logits = model_.forward_asked(*stream_, placed_inputs(shape, places), kv);
  const int64_t n = shape.n_block;
  BlockStepArgs step{.conditional = logits.rows(0, n),
                     .unconditional = {},
                     .codes = input_at(places.codes, n, parameters().n_codebook),
                     .move = input_at(places.move, static_cast<int64_t>(kMoveInts)),
                     .mask = parameters().mask,
                     .has_marginals = shape.has_marginals,
                     .may_end = shape.may_end};
  if (shape.is_guided && !shape.keeps_guidance) step.unconditional = logits.rows(n, n);
  if (shape.keeps_guidance) {
    step.unconditional = step.conditional;
    step.unconditional.buffer = guidance_.get();
    step.unconditional.data = guidance_->base();
    if (shape.takes_unconditional) copy(*stream_, step.unconditional, logits.rows(n, n));
  }
  block_step(*stream_, step);
}

Result<KeptSpeechLm::PassState*> KeptSpeechLm::state_of(const PassShape& shape, FunctionRef<void()> compute) {
  constexpr size_t kMostShapes = 256;
  if (passes_.size() > kMostShapes) passes_.clear();
  PassState& state = passes_[shape];
  if (state.key != 0) return &state;
  const Plan plan = stream_->dry_run(compute);
  if (!plan.missing.empty()) {
    passes_.erase(shape);
    return fail(ErrorCode::unsupported, "device {} has no kernel for {}; use {} for speech", device_.name(),
                plan.missing.front(), set_to(Parameter::device, "cpu"));
  }
  if (plan.workspace_bytes > reserved_.workspace_bytes || plan.scratch_bytes > reserved_.scratch_bytes) {
    reserved_.workspace_bytes = std::max(reserved_.workspace_bytes, plan.workspace_bytes);
    reserved_.scratch_bytes = std::max(reserved_.scratch_bytes, plan.scratch_bytes);
    PARLANCE_CHECK(stream_->reserve(reserved_));
  }
  state.key = ++n_shapes_;
  return &state;
}

Result<std::span<const int32_t>> KeptSpeechLm::decide(const KeptPass& pass, std::span<const int32_t> codes,
                                                      const KeptBlock& block, const BlockMove& move,
                                                      const Cancellation& cancellation) {
  assert(std::ssize(codes) == parameters().n_codebook * n_target_);
  assert(pass.first <= block.first && block.first < block.end);
  assert(block.end <= std::min(pass.end, pass.first_far));
  assert(n_columns_ > 0 || (pass.takes_prompt && pass.first == 0 && pass.end == n_target_));
  const CancellableWork work(*stream_, cancellation);
  Columns columns = columns_of(pass, codes);
  const bool takes_unconditional = is_guided_ && pass.takes_unconditional;
  assert(!is_guided_ || takes_unconditional || block.keeps_guidance);
  const int64_t n_real = columns.n();
  pad(columns);
  for (int64_t t = block.first; t < block.end; ++t)
    columns.asked.push_back(static_cast<int32_t>(columns.conditional_of(t - pass.first)));
  for (int64_t t = block.first; takes_unconditional && t < block.end; ++t)
    columns.asked.push_back(static_cast<int32_t>(columns.unconditional_of(t - pass.first)));
  while (std::ssize(columns.asked) < least_columns()) columns.asked.push_back(columns.asked.back());
  const auto& seen = columns.seen.empty() ? columns.seq : columns.seen;
  const int64_t n_conditional = std::ranges::count(seen, Columns::kConditional),
                n_unconditional = columns.n() - n_conditional;

  const PassShape shape{
      .n_text = std::ssize(columns.text),
      .n_audio = std::ssize(columns.audio.front()),
      .n_shared = std::ssize(columns.shared),
      .n_asked = std::ssize(columns.asked),
      .n_block = block.end - block.first,
      .least_of_row = n_unconditional > 0 ? std::min(n_conditional, n_unconditional) : n_conditional,
      .most_of_row = std::max(n_conditional, n_unconditional),
      .is_guided = is_guided_,
      .takes_unconditional = takes_unconditional,
      .keeps_guidance = is_guided_ && block.keeps_guidance,
      .has_marginals = move.marginal > 0,
      .may_end = move.confidence < 1};
  const InputPlaces places(shape, parameters().n_codebook);
  const KvLayers& kv = cache_->layers(*stream_);
  const auto run = [&] { compute(shape, places, kv); };
  PARLANCE_TRY(PassState* const state, state_of(shape, run));
  write_inputs(columns, codes, block, move, places);
  // What comes once is not worth a recording.
  const bool is_recorded = state->n_runs++ > 0 && columns.n() <= kMostRecordedColumns;
  stream_->step(is_recorded ? state->key : Stream::kOnce, run);
  if (stream_->cancelled()) return fail(ErrorCode::cancelled, "speech was cancelled");
  n_columns_ += n_real;

  numbers_.resize(places.n - places.codes);
  const Tensor back = input_at(places.codes, std::ssize(numbers_));
  PARLANCE_CHECK(stream_->download(std::as_writable_bytes(std::span(numbers_)), back));
  BlockMove after;
  std::memcpy(&after, numbers_.data() + (places.move - places.codes), sizeof after);
  const int64_t n_codebook = parameters().n_codebook, fault = after.step.fault;
  if (fault != std::numeric_limits<int32_t>::max())
    return damaged_logits(block.first + fault / n_codebook, fault % n_codebook);
  for (int64_t k = 0; k < n_codebook; ++k) {
    for (int64_t t = 0; t < shape.n_block; ++t)
      numbers_[static_cast<size_t>(k * shape.n_block + t)] -=
          static_cast<int32_t>(k * parameters().n_audio_vocab);
  }
  return std::span<const int32_t>(numbers_).first(static_cast<size_t>(n_codebook * shape.n_block));
}

}  // namespace parlance
