#include "engine/part_runner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "base/checked.h"
#include "base/parameter.h"
#include "engine/context.h"
#include "engine/step_size.h"
#include "kernels/fused_ops.h"

namespace parlance {

namespace {

// The lists of a batch; a token has four rotary positions.
enum Input {
  kToken,
  kSeq,
  kPos,
  kStateFrom,
  kStateTo,
  kOutputRow,
  kRopePos,
  kDraw = kRopePos + 4,
  kInputCount = kDraw + kDrawWords
};

// f32 [n, n_rows] in a buffer of its own.
Result<std::unique_ptr<Buffer>> allocate_rows(Device& device, int64_t n, int64_t n_rows, Tensor& rows) {
  rows.ne = {n, n_rows, 1, 1};
  PARLANCE_TRY(auto buffer, device.allocate(rows.size()));
  rows.buffer = buffer.get();
  rows.data = buffer->base();
  return buffer;
}

}  // namespace

Result<std::unique_ptr<PartRunner>> PartRunner::create(const TextModel& model, size_t part,
                                                       const SessionOptions& options, PageCounts n_pages) {
  std::unique_ptr<PartRunner> runner(new PartRunner(model, part));
  PARLANCE_CHECK(runner->allocate(options, n_pages));
  return runner;
}

Result<void> PartRunner::allocate(const SessionOptions& options, PageCounts n_pages) {
  const ModelPart& part = model_.model().placement().parts()[part_];
  Device& device = *part.device;
  n_batch_ = options.n_batch;
  n_seq_ = options.n_seq;
  n_outputs_ = options.n_outputs;
  n_kv_bound_ = align_up(options.n_ctx, kBoundStride);
  stream_ = device.make_stream();
  const HyperParameters& hp = model_.hyper_parameters();
  PARLANCE_TRY(cache_, KvCache::create(device, kv_layout(hp, options, part.first_layer, part.end_layer),
                                       n_pages, options.n_ctx, n_table_rows(options)));
  caches_ = {cache_.get()};
  drafter_ = options.drafter;
  if (drafter_) {
    PARLANCE_TRY(features_buffer_, allocate_rows(device, hp.n_embd, n_batch_, features_));
  }
  if (drafter_ && model_.model().placement().is_last(part_)) {
    PARLANCE_TRY(draft_, DraftPart::create(device, options, n_pages).map_error([](Error error) {
      error.message = "beside the model's, the drafter's share: " + error.message;
      return error;
    }));
    caches_.push_back(&draft_->cache());
  }
  const int64_t n_recurrent = hp.n_layers_of(LayerKind::delta_net, part.first_layer, part.end_layer);
  PARLANCE_TRY(states_, RecurrentState::create(device, recurrent_layout(hp, n_recurrent, options.n_draft),
                                               options.n_seq + 1));
  PARLANCE_TRY(inputs_, InputLists::create(device, kInputCount, n_batch_));
  if (options.n_tree > 0) {
    PARLANCE_TRY(copies_, InputLists::create(device, 1, 4 * kMostSharedRuns));
  }
  has_rope_pos_ = options.sectioned_positions && !hp.rope.sections.empty();
  const bool is_whole_model = model_.model().placement().parts().size() == 1;
  can_pause_ = is_whole_model && !stream_->keeps_recordings() && !options.drafter && !options.draft_model;
  if (part_ > 0 || can_pause_) {
    PARLANCE_TRY(h_buffer_, allocate_rows(device, hp.n_embd, n_batch_, h_));
  }
  if (part_ == 0 && options.takes_embeddings) {
    PARLANCE_TRY(embd_buffer_, allocate_rows(device, hp.n_embd, n_batch_, embd_));
  }
  PARLANCE_TRY(const Plan plan, plan_steps(options));
  PARLANCE_CHECK(stream_->reserve(plan));
  workspace_bytes_ = plan.workspace_bytes + plan.scratch_bytes;
  most_alike_rows_ = plan.most_alike_rows;
  return {};
}

// The end of the context needs the most; which batch size does is the kernels' affair, so several are tried.
Result<Plan> PartRunner::plan_steps(const SessionOptions& options) {
  const SequenceMemory memory = this->memory();
  Plan plan;
  // Rows that the device fuses may need less than fewer ones that it does not. With f16 weights it fuses the
  // fewest: what any weights may need most for is tried.
  const auto is_fused = [&](int64_t n) { return fuses_rows(*stream_, n, DType::f16); };
  const auto next = [&](int64_t n) {
    int64_t fewer = n / 2;
    if (is_fused(n)) {
      for (fewer = n - 1; fewer > n / 2 && is_fused(fewer);) --fewer;
    }
    return fewer;
  };
  for (int64_t n_tokens = n_batch_; n_tokens > 0; n_tokens = next(n_tokens)) {
    const Shape shape{.n_tokens = n_tokens,
                      .n_outputs = std::min(n_tokens, n_outputs_),
                      .n_kv_bound = n_kv_bound_,
                      .wanted = Wanted::top,
                      .n_copies = options.n_tree > 0 ? kMostSharedRuns : 0};
    const KvLayers* const draft = draft_layers();
    const Plan dry = stream_->dry_run([&] {
      const StepOutputs outputs = result_of(forward(shape, batch_of(shape), memory, draft, layers()), shape);
      if (outputs.logits) argmax(*stream_, outputs.logits);
      if (draft_) draft_->plan(*stream_, n_kv_bound_);
      for (KvCache* const cache : caches_) {
        if (options.cache.has_exact_pages()) cache->plan_compress(*stream_);
      }
    });
    if (!dry.missing.empty()) {
      // Operations on a cache name its formats: "attention k=tbq4_0 v=f16".
      const bool is_cache = dry.missing.front().find(" k=") != std::string::npos;
      return fail(ErrorCode::unsupported, "{}: device {} has no kernel for {}; use {}, or {}",
                  model_.file().name(), stream_->device().name(), dry.missing.front(),
                  set_to(Parameter::device, "cpu"),
                  is_cache ? fmt::format("{} without {} and {}", set_to(Parameter::cache, "exact"),
                                         Parameter::cache_recent, Parameter::cache_sink)
                           : "a file quantised to q4_k or q8_0");
    }
    plan.workspace_bytes = std::max(plan.workspace_bytes, dry.workspace_bytes);
    plan.scratch_bytes = std::max(plan.scratch_bytes, dry.scratch_bytes);
    plan.most_alike_rows = std::min(plan.most_alike_rows, dry.most_alike_rows);
  }
  return plan;
}

uint64_t PartRunner::Shape::key() const {
  if (!is_recorded) return Stream::kOnce;
  return runs.key() << 59 | static_cast<uint64_t>(n_kv_bound) << 24 |
         static_cast<uint64_t>(n_copies > 0) << 23 | static_cast<uint64_t>(n_tokens) << 12 |
         static_cast<uint64_t>(n_outputs) << 2 | static_cast<uint64_t>(wanted);
}

PartRunner::Shape PartRunner::shape_of(const HostBatch& batch) const {
  Shape shape{.n_tokens = batch.n_tokens(),
              .n_outputs = batch.n_outputs(),
              .n_kv_bound = std::min(position_bound(batch.n_kv_bound), n_kv_bound_),
              .wanted = batch.wanted,
              .n_copies = batch.n_copies(),
              .runs = RunBounds::of(batch.seq)};
  shape.is_recorded =
      stream_->keeps_recordings() && is_recorded_size(shape.n_tokens) && batch.embedded.empty();
  if (shape.is_recorded) {
    shape.n_tokens = recorded_size(shape.n_tokens, n_batch_);
    shape.n_outputs = recorded_size(shape.n_outputs, std::min(n_outputs_, shape.n_tokens));
    if (shape.n_copies > 0) shape.n_copies = kMostSharedRuns;
  }
  return shape;
}

// The input tensors of a batch.
Batch PartRunner::batch_of(const Shape& shape) const {
  const int64_t n = shape.n_tokens;
  BatchView view{.seq = inputs_.on_device(kSeq, n),
                 .pos = inputs_.on_device(kPos, n),
                 .n_kv_bound = shape.n_kv_bound,
                 .least_rows = shape.runs.least,
                 .most_rows = shape.runs.most};
  if (states_->layout().n_draft > 0) {
    view.state_from = inputs_.on_device(kStateFrom, n);
    view.state_to = inputs_.on_device(kStateTo, n);
  }
  if (shape.n_copies > 0) view.copies = copies_.on_device(0, 4 * shape.n_copies).reshaped(4, shape.n_copies);
  return {.token = inputs_.on_device(kToken, n),
          .h = h_ ? h_.rows(0, n) : Tensor{},
          .view = view,
          .rope_pos = has_rope_pos_ ? inputs_.on_device(kRopePos, 4 * n).reshaped(4, n) : Tensor{}};
}

Wants PartRunner::wants_of(const Shape& shape) const {
  if (shape.n_outputs == 0) return {};
  return {.rows = inputs_.on_device(kOutputRow, shape.n_outputs),
          .logits = shape.wanted != Wanted::pooled,
          .taps = {}};
}

// The rows of the shape that the batch does not fill are of a sequence that nobody reads, from its start on.
Batch PartRunner::upload(const HostBatch& batch, const Shape& shape) {
  inputs_.set_length(shape.n_tokens);
  const int64_t n = batch.n_tokens(), n_embd = model_.hyper_parameters().n_embd;
  const auto host = [this](Input which) { return inputs_.host(which).begin(); };
  std::ranges::copy(batch.token, host(kToken));
  std::ranges::copy(batch.seq, host(kSeq));
  std::ranges::copy(batch.pos, host(kPos));
  std::ranges::copy(batch.state_from, host(kStateFrom));
  std::ranges::copy(batch.state_to, host(kStateTo));
  std::ranges::copy(batch.output_row, host(kOutputRow));
  std::fill(host(kToken) + n, host(kToken) + shape.n_tokens, 0);
  std::fill(host(kSeq) + n, host(kSeq) + shape.n_tokens, static_cast<int32_t>(n_seq_));
  std::iota(host(kPos) + n, host(kPos) + shape.n_tokens, 0);
  std::fill(host(kStateFrom) + n, host(kStateFrom) + shape.n_tokens, 0);
  std::fill(host(kStateTo) + n, host(kStateTo) + shape.n_tokens, static_cast<int32_t>(shape.n_tokens - n));
  std::fill(host(kOutputRow) + batch.n_outputs(), host(kOutputRow) + shape.n_outputs, 0);
  if (has_rope_pos_) {
    for (int64_t i = 0; i < shape.n_tokens; ++i) {
      std::fill_n(host(kRopePos) + 4 * i, 3, host(kPos)[i]);
      host(kRopePos)[4 * i + 3] = 0;
    }
    for (const HostBatch::Rows& run : batch.embedded) {
      for (int64_t i = 0; i < std::ssize(run.rows) / n_embd; ++i)
        host(kRopePos)[4 * (run.first + i) + 3] = host(kPos)[run.first + i];
    }
  }

  for (size_t i = 0; i < batch.draws.size(); ++i) {
    const auto words = std::bit_cast<std::array<int32_t, kDrawWords>>(batch.draws[i]);
    for (size_t word = 0; word < words.size(); ++word)
      inputs_.host(kDraw + static_cast<int>(word))[i] = words[word];
  }
  inputs_.upload(*stream_);
  if (shape.n_copies > 0) {
    std::ranges::fill(copies_.host(0), 0);
    std::ranges::copy(batch.copies, copies_.host(0).begin());
    copies_.upload(*stream_);
  }

  Batch on_device = batch_of(shape);
  embedded_.clear();
  int64_t n_rows = 0;
  for (const HostBatch::Rows& run : batch.embedded) {
    if (part_ > 0) break;
    const int64_t n_run = std::ssize(run.rows) / n_embd;
    embedded_.push_back({run.first, embd_.rows(n_rows, n_run)});
    stream_->upload(embedded_.back().rows, std::as_bytes(run.rows));
    n_rows += n_run;
  }
  on_device.embedded = embedded_;
  return on_device;
}

Tensor PartRunner::features(int64_t n_tokens) const {
  const bool has_some = drafter_ && drafter_->reads_before(layers().end_layer);
  return has_some ? features_.rows(0, n_tokens) : Tensor{};
}

// The model's pass, to which the drafter listens where there is one.
Outputs PartRunner::forward(const Shape& shape, const Batch& batch, const SequenceMemory& memory,
                            const KvLayers* draft, const LayerRange& layers) {
  Wants wants = wants_of(shape);
  wants.queries = queries_;
  if (!drafter_) return model_.model().forward(*stream_, batch, memory, wants, layers);
  const Dflash::Listener listener(*drafter_, features_.rows(0, shape.n_tokens), draft, batch.view);
  listener.begin(*stream_, layers.first_layer);
  wants.taps = listener.taps();
  return model_.model().forward(*stream_, batch, memory, wants, layers);
}

PartRunner::StepOutputs PartRunner::result_of(const Outputs& outputs, const Shape& shape) {
  if (outputs.h) return {outputs.h, {}};
  const Tensor& logits = outputs.logits;
  if (!logits) return {outputs.normed, {}};
  if (shape.wanted == Wanted::tokens) return {argmax(*stream_, logits), logits};
  if (shape.wanted == Wanted::top) return {top_logits(*stream_, logits, kMostTopLogits), logits};
  return {logits, logits};
}

Tensor PartRunner::step(const HostBatch& host, const Before& before, const LayerRange& layers) {
  const Shape shape = shape_of(host);
  const Batch batch = upload(host, shape);
  if (layers.first_layer > 0) stream_->upload(batch.h.rows(0, host.n_tokens()), std::as_bytes(before.h));
  if (!before.features.empty())
    stream_->upload(features_.rows(0, host.n_tokens()), std::as_bytes(before.features));
  return run(host, shape, batch, layers);
}

Tensor PartRunner::step_behind(const HostBatch& host, const Tensor& told) {
  const Shape shape = shape_of(host);
  const Batch batch = upload(host, shape);
  const int64_t n = host.n_tokens(), n_lists = align_up(shape.n_tokens, InputLists::kAlignment);
  const Tensor tokens = inputs_.on_device(kToken, n);
  draw_tokens(*stream_, told, inputs_.on_device(kDraw, n_lists * kDrawWords).reshaped(n_lists, kDrawWords),
              tokens);
  stream_->begin_download(told, tokens);
  return run(host, shape, batch, layers());
}

Tensor PartRunner::run(const HostBatch& host, const Shape& shape, const Batch& batch,
                       const LayerRange& layers) {
  const SequenceMemory memory = this->memory();
  if (stream_->cancelled()) return {};
  const KvLayers* const draft = draft_layers();
  StepOutputs& outputs = outputs_[shape.key()];
  logits_ = {};
  stream_->step(shape.key(),
                [&] { outputs = result_of(forward(shape, batch, memory, draft, layers), shape); });
  if (!outputs.told) return {};
  const bool is_end = model_.model().placement().is_end(layers);
  if (is_end) logits_ = outputs.logits;
  return outputs.told.rows(0, is_end ? host.n_outputs() : host.n_tokens());
}

Result<void> PartRunner::write_noise(const HostBatch& host, std::span<const float> noise) {
  const KvLayout& layout = cache_->layout();
  PARLANCE_TRY(const auto buffer, stream_->device().allocate(noise.size() * sizeof(float)));
  Tensor source;
  source.ne = {static_cast<int64_t>(noise.size()), 1, 1, 1};
  source.data = buffer->base();
  source.buffer = buffer.get();
  stream_->upload(source, std::as_bytes(noise));
  const Batch batch = upload(host, {.n_tokens = host.n_tokens(), .n_kv_bound = host.n_kv_bound});
  const KvLayers& kv = cache_->layers(*stream_);
  Tensor k = source, v = source;
  k.ne = {layout.head_dim_k, layout.n_head_kv, host.n_tokens(), 1};
  v.ne = {layout.head_dim_v, layout.n_head_kv, host.n_tokens(), 1};
  for (int64_t layer = 0; layer < layout.n_layer; ++layer)
    kv_write(*stream_, kv.layer(layer), k, v, batch.view);
  if (draft_) draft_->write_noise(*stream_, source, batch.view);
  return stream_->synchronize();  // before the buffer goes away
}

}  // namespace parlance
