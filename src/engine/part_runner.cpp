#include "engine/part_runner.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "engine/context.h"

namespace parlance {

namespace {

// In units of n_batch values; a token has four rotary positions.
enum Input { kToken, kSeq, kPos, kOutputRow, kRopePos, kInputCount = kRopePos + 4 };

// Steps of so few tokens come again and again; longer ones, pieces of prompts, are not worth a recording.
constexpr int64_t kMostRecordedTokens = 16;

uint64_t key_of(const HostBatch& batch) {
  if (batch.n_tokens() > kMostRecordedTokens || !batch.embd.empty()) return Stream::kOnce;
  return static_cast<uint64_t>(batch.n_outputs) << 48 | static_cast<uint64_t>(batch.n_tokens()) << 40 |
         static_cast<uint64_t>(batch.n_kv_bound);
}

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
  stream_ = device.make_stream();
  const HyperParameters& hp = model_.hyper_parameters();
  PARLANCE_TRY(cache_, KvCache::create(device, kv_layout(hp, options, part.first_layer, part.end_layer),
                                       n_pages, options.n_ctx, options.n_seq));
  const int64_t n_recurrent = hp.n_layers_of(LayerKind::delta_net, part.first_layer, part.end_layer);
  PARLANCE_TRY(states_, RecurrentState::create(device, recurrent_layout(hp, n_recurrent), options.n_seq));
  host_inputs_.resize(static_cast<size_t>(kInputCount * n_batch_));
  PARLANCE_TRY(inputs_, device.allocate(host_inputs_.size() * sizeof(int32_t)));
  has_rope_pos_ = options.sectioned_positions && !hp.rope.sections.empty();
  if (part_ > 0) {
    PARLANCE_TRY(h_buffer_, allocate_rows(device, hp.n_embd, n_batch_, h_));
  } else if (options.takes_embeddings) {
    PARLANCE_TRY(embd_buffer_, allocate_rows(device, hp.n_embd, n_batch_, embd_));
  }
  PARLANCE_TRY(const Plan plan, plan_steps(options));
  PARLANCE_CHECK(stream_->reserve(plan));
  workspace_bytes_ = plan.workspace_bytes + plan.scratch_bytes;
  return {};
}

// The end of the context needs the most; which batch size does is the kernels' affair, so several are tried.
Result<Plan> PartRunner::plan_steps(const SessionOptions& options) {
  const SequenceMemory memory = this->memory();
  const int64_t n_kv_bound = align_up(options.n_ctx, kBoundStride);
  Plan plan;
  for (int64_t n_tokens = n_batch_; n_tokens > 0; n_tokens /= 2) {
    const Plan dry = stream_->dry_run([&] {
      const int64_t n_outputs = std::min(n_tokens, options.n_outputs);
      model_.model().forward(*stream_, batch_of(n_tokens, n_kv_bound), memory, wants_of(n_outputs), part_);
      if (options.cache.has_exact_pages()) cache_->plan_compress(*stream_);
    });
    if (!dry.missing.empty()) {
      // Operations on a cache name its formats: "attention k=tbq4_0 v=f16".
      const bool is_cache = dry.missing.front().find(" k=") != std::string::npos;
      return fail(ErrorCode::unsupported, "{}: device {} has no kernel for {}; use --device cpu, or {}",
                  model_.file().name(), stream_->device().name(), dry.missing.front(),
                  is_cache ? "--cache exact without --cache-recent and --cache-sink"
                           : "a file quantised to q4_k or q8_0");
    }
    plan.workspace_bytes = std::max(plan.workspace_bytes, dry.workspace_bytes);
    plan.scratch_bytes = std::max(plan.scratch_bytes, dry.scratch_bytes);
  }
  return plan;
}

Tensor PartRunner::input(int which, int64_t n) const {
  Tensor tensor;
  tensor.dtype = DType::i32;
  tensor.ne = {n, 1, 1, 1};
  tensor.buffer = inputs_.get();
  tensor.data = inputs_->base() + static_cast<size_t>(which * n_batch_) * sizeof(int32_t);
  return tensor;
}

// The input tensors of a batch.
Batch PartRunner::batch_of(int64_t n_tokens, int64_t n_kv_bound) const {
  return {.token = input(kToken, n_tokens),
          .h = h_ ? h_.rows(0, n_tokens) : Tensor{},
          .view = {.seq = input(kSeq, n_tokens), .pos = input(kPos, n_tokens), .n_kv_bound = n_kv_bound},
          .rope_pos = has_rope_pos_ ? input(kRopePos, 4 * n_tokens).reshaped(4, n_tokens) : Tensor{}};
}

Wants PartRunner::wants_of(int64_t n_outputs) const {
  return {.rows = input(kOutputRow, n_outputs)};
}

Batch PartRunner::upload(const HostBatch& batch) {
  const int64_t n = batch.n_tokens();
  const auto host = [this](Input which) { return host_inputs_.begin() + which * n_batch_; };
  // Where there is a row in place of an embedding there is no token: any will do.
  std::transform(batch.tokens.begin(), batch.tokens.end(), host(kToken),
                 [](Token token) { return std::max<int32_t>(token, 0); });
  std::fill_n(host(kSeq), n, batch.seq);
  std::iota(host(kPos), host(kPos) + n, static_cast<int32_t>(batch.first));
  const int64_t n_embd_rows = static_cast<int64_t>(batch.embd.size()) / model_.hyper_parameters().n_embd;
  for (int64_t i = 0; i < n; ++i) {
    const bool is_row = i >= batch.first_embd && i < batch.first_embd + n_embd_rows;
    std::fill_n(host(kRopePos) + 4 * i, 3, host(kPos)[i]);
    host(kRopePos)[4 * i + 3] = is_row ? host(kPos)[i] : 0;
  }
  std::iota(host(kOutputRow), host(kOutputRow) + batch.n_outputs, static_cast<int32_t>(n - batch.n_outputs));

  Tensor inputs;
  inputs.dtype = DType::i32;
  inputs.ne = {static_cast<int64_t>(host_inputs_.size()), 1, 1, 1};
  inputs.data = inputs_->base();
  inputs.buffer = inputs_.get();
  stream_->upload(inputs, std::as_bytes(std::span(host_inputs_)));
  Batch on_device = batch_of(n, batch.n_kv_bound);
  if (part_ == 0 && n_embd_rows > 0) {
    embedded_ = {batch.first_embd, embd_.rows(0, n_embd_rows)};
    on_device.embedded = {&embedded_, 1};
    stream_->upload(embedded_.rows, std::as_bytes(batch.embd));
  }
  return on_device;
}

Tensor PartRunner::step(const HostBatch& host, std::span<const float> h) {
  const Batch batch = upload(host);
  if (batch.h) stream_->upload(batch.h, std::as_bytes(h));
  const SequenceMemory memory = this->memory();
  if (stream_->cancelled()) return {};
  Tensor& output = outputs_[key_of(host)];
  stream_->step(key_of(host), [&] {
    const Outputs outputs = model_.model().forward(*stream_, batch, memory, wants_of(host.n_outputs), part_);
    output = outputs.logits ? outputs.logits : outputs.h;
  });
  return output;
}

Result<void> PartRunner::write_noise(const HostBatch& host, std::span<const float> noise) {
  const KvLayout& layout = cache_->layout();
  PARLANCE_TRY(const auto buffer, stream_->device().allocate(noise.size() * sizeof(float)));
  Tensor source;
  source.ne = {static_cast<int64_t>(noise.size()), 1, 1, 1};
  source.data = buffer->base();
  source.buffer = buffer.get();
  stream_->upload(source, std::as_bytes(noise));
  const Batch batch = upload(host);
  const KvLayers& kv = cache_->layers(*stream_);
  Tensor k = source, v = source;
  k.ne = {layout.head_dim_k, layout.n_head_kv, host.n_tokens(), 1};
  v.ne = {layout.head_dim_v, layout.n_head_kv, host.n_tokens(), 1};
  for (int64_t layer = 0; layer < layout.n_layer; ++layer)
    kv_write(*stream_, kv.layer(layer), k, v, batch.view);
  return stream_->synchronize();  // before the buffer goes away
}

}  // namespace parlance
