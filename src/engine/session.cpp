#include "engine/session.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/checked.h"

namespace parlance {

namespace {

enum Input { kToken, kSeq, kPos, kOutputRow, kInputCount };

// Steps are recorded for a bound on positions that grows in strides, not for every length.
constexpr int64_t kBoundStride = 256;

}  // namespace

Result<std::unique_ptr<Session>> Session::create(const TextModel& model, const SessionOptions& options) {
  std::unique_ptr<Session> session(new Session(model, options));
  PARLANCE_CHECK(session->allocate());
  return session;
}

Result<void> Session::allocate() {
  const HyperParameters& hp = model_.hyper_parameters();
  if (options_.n_ctx == 0) options_.n_ctx = hp.n_ctx_train;
  if (options_.n_ctx < 1) {
    return fail(ErrorCode::invalid_argument, "--ctx-size must be at least 1, got {}", options_.n_ctx);
  }
  options_.n_batch = std::clamp<int64_t>(options_.n_batch, 1, options_.n_ctx);

  stream_ = model_.device().make_stream();
  const KvLayout layout{.n_layer = hp.n_layer,
                        .n_head_kv = hp.n_head_kv,
                        .head_dim_k = hp.head_dim_k,
                        .head_dim_v = hp.head_dim_v,
                        .k_format = options_.cache_type_k,
                        .v_format = options_.cache_type_v};
  PARLANCE_TRY(cache_, KvCache::create(model_.device(), layout, options_.n_ctx, 1));
  host_inputs_.resize(static_cast<size_t>(kInputCount * options_.n_batch));
  PARLANCE_TRY(inputs_, model_.device().allocate(host_inputs_.size() * sizeof(int32_t)));

  // The end of the context needs the most; which batch size does is the kernels' affair, so several are
  // tried.
  const KvView& view = cache_->view(*stream_);
  const int64_t n_kv_bound = align_up(options_.n_ctx, kBoundStride);
  Plan plan;
  for (int64_t n_tokens = options_.n_batch; n_tokens > 0; n_tokens /= 2) {
    const Plan dry =
        stream_->dry_run([&] { model_.model().forward(*stream_, batch_of(n_tokens, n_kv_bound), view); });
    if (!dry.missing.empty()) {
      return fail(ErrorCode::unsupported,
                  "{}: device {} has no kernel for {}; use a file quantised to q4_k or q8_0",
                  model_.file().name(), model_.device().name(), dry.missing.front());
    }
    plan.workspace_bytes = std::max(plan.workspace_bytes, dry.workspace_bytes);
    plan.scratch_bytes = std::max(plan.scratch_bytes, dry.scratch_bytes);
  }
  PARLANCE_CHECK(stream_->reserve(plan));
  workspace_bytes_ = plan.workspace_bytes + plan.scratch_bytes;
  logits_.resize(static_cast<size_t>(model_.model().n_vocab()));
  tokens_.reserve(static_cast<size_t>(std::min<int64_t>(options_.n_ctx, 1 << 20)));
  return {};
}

// The input tensors of a batch that wants the logits of one token. No position reaches n_kv_bound.
Batch Session::batch_of(int64_t n_tokens, int64_t n_kv_bound) const {
  const auto input = [this](Input which, int64_t n) {
    Tensor tensor;
    tensor.dtype = DType::i32;
    tensor.ne = {n, 1, 1, 1};
    tensor.buffer = inputs_.get();
    tensor.data = inputs_->base() + static_cast<size_t>(which * options_.n_batch) * sizeof(int32_t);
    return tensor;
  };
  return {.token = input(kToken, n_tokens),
          .view = {.seq = input(kSeq, n_tokens), .pos = input(kPos, n_tokens), .n_kv_bound = n_kv_bound},
          .output_rows = input(kOutputRow, 1)};
}

void Session::truncate(int64_t n_tokens) {
  tokens_.resize(static_cast<size_t>(std::min<int64_t>(n_tokens, static_cast<int64_t>(tokens_.size()))));
  cache_->truncate(0, static_cast<int64_t>(tokens_.size()));
}

Result<std::span<const float>> Session::set_prompt(std::span<const Token> prompt) {
  if (prompt.empty()) return fail(ErrorCode::invalid_argument, "the prompt is empty; give it some text");
  const auto common =
      std::mismatch(prompt.begin(), prompt.end(), tokens_.begin(), tokens_.end()).first - prompt.begin();
  // The last token is computed again even when it is known: its logits are what is asked for.
  const auto kept = std::min<int64_t>(common, static_cast<int64_t>(prompt.size()) - 1);
  truncate(kept);
  return append(prompt.subspan(static_cast<size_t>(kept)));
}

Result<std::span<const float>> Session::append(std::span<const Token> tokens) {
  if (tokens.empty()) return fail(ErrorCode::invalid_argument, "there are no tokens to append");
  const auto n_after = static_cast<int64_t>(tokens_.size() + tokens.size());
  if (n_after > options_.n_ctx) {
    return fail(ErrorCode::invalid_argument,
                "the text has {} tokens and the context holds {}; shorten it or raise --ctx-size", n_after,
                options_.n_ctx);
  }
  for (const Token token : tokens) {
    if (token < 0 || token >= model_.model().n_vocab()) {
      return fail(ErrorCode::invalid_argument, "token {} is outside the vocabulary of {}", token,
                  model_.model().n_vocab());
    }
  }
  const size_t n_before = tokens_.size();
  stream_->set_cancellation({&generation_, request_});
  while (!tokens.empty()) {
    const size_t n = std::min<size_t>(tokens.size(), static_cast<size_t>(options_.n_batch));
    PARLANCE_CHECK(step(tokens.first(n)));
    if (cancelled()) {
      truncate(static_cast<int64_t>(n_before));
      return fail(ErrorCode::cancelled, "cancelled");
    }
    tokens = tokens.subspan(n);
  }
  return std::span<const float>(logits_);
}

// Uploads a batch of tokens at the positions that follow the current ones, and makes room for them.
Result<Batch> Session::place(std::span<const Token> tokens) {
  const auto n = static_cast<int64_t>(tokens.size());
  const auto first = static_cast<int64_t>(tokens_.size());
  PARLANCE_CHECK(cache_->grow(0, first + n));
  const auto host = [this](Input which) { return host_inputs_.begin() + which * options_.n_batch; };
  std::copy(tokens.begin(), tokens.end(), host(kToken));
  std::fill_n(host(kSeq), n, 0);
  std::iota(host(kPos), host(kPos) + n, static_cast<int32_t>(first));
  *host(kOutputRow) = static_cast<int32_t>(n - 1);

  Tensor inputs;
  inputs.dtype = DType::i32;
  inputs.ne = {static_cast<int64_t>(host_inputs_.size()), 1, 1, 1};
  inputs.data = inputs_->base();
  inputs.buffer = inputs_.get();
  stream_->upload(inputs, std::as_bytes(std::span(host_inputs_)));
  return batch_of(n, align_up(first + n, kBoundStride));
}

Result<void> Session::step(std::span<const Token> tokens) {
  PARLANCE_TRY(const Batch batch, place(tokens));
  const KvView& view = cache_->view(*stream_);
  const uint64_t key = tokens.size() << 40 | static_cast<uint64_t>(batch.view.n_kv_bound);
  stream_->step(key, [&] { outputs_[key] = model_.model().forward(*stream_, batch, view); });
  PARLANCE_CHECK(stream_->download(std::as_writable_bytes(std::span(logits_)), outputs_[key]));
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return {};
}

Result<void> Session::fill_with_noise(int64_t n_tokens) {
  const KvLayout& layout = cache_->layout();
  const int64_t n_k = layout.head_dim_k * layout.n_head_kv * options_.n_batch;
  const int64_t n_v = layout.head_dim_v * layout.n_head_kv * options_.n_batch;
  std::vector<float> noise(static_cast<size_t>(std::max(n_k, n_v)));
  std::mt19937 random(1);
  for (float& value : noise) value = static_cast<float>(random()) * 0x1p-31f - 1;
  PARLANCE_TRY(const auto buffer, model_.device().allocate(noise.size() * sizeof(float)));
  Tensor source;
  source.ne = {static_cast<int64_t>(noise.size()), 1, 1, 1};
  source.data = buffer->base();
  source.buffer = buffer.get();
  stream_->upload(source, std::as_bytes(std::span(noise)));

  while (static_cast<int64_t>(tokens_.size()) < n_tokens) {
    const int64_t n = std::min<int64_t>(n_tokens - static_cast<int64_t>(tokens_.size()), options_.n_batch);
    const std::vector<Token> tokens(static_cast<size_t>(n), 0);
    PARLANCE_TRY(const Batch batch, place(tokens));
    const KvView& view = cache_->view(*stream_);
    Tensor k = source, v = source;
    k.ne = {layout.head_dim_k, layout.n_head_kv, n, 1};
    v.ne = {layout.head_dim_v, layout.n_head_kv, n, 1};
    for (int64_t layer = 0; layer < layout.n_layer; ++layer)
      kv_write(*stream_, view, layer, k, v, batch.view);
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }
  return stream_->synchronize();
}

}  // namespace parlance
