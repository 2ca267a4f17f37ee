#include "engine/session.h"

#include <algorithm>
#include <random>

#include "base/checked.h"

namespace parlance {

KvLayout kv_layout(const HyperParameters& hp, const SessionOptions& options, int64_t n_layer) {
  return {.n_layer = n_layer,
          .n_head_kv = hp.n_head_kv,
          .head_dim_k = hp.head_dim_k,
          .head_dim_v = hp.head_dim_v,
          .k_format = options.cache_type_k,
          .v_format = options.cache_type_v};
}

Result<std::unique_ptr<Session>> Session::create(const TextModel& model, const SessionOptions& options) {
  std::unique_ptr<Session> session(new Session(model, options));
  PARLANCE_CHECK(session->allocate());
  return session;
}

Result<void> Session::allocate() {
  if (options_.n_ctx == 0) options_.n_ctx = model_.hyper_parameters().n_ctx_train;
  if (options_.n_ctx < 1) {
    return fail(ErrorCode::invalid_argument, "--ctx-size must be at least 1, got {}", options_.n_ctx);
  }
  options_.n_batch = std::clamp<int64_t>(options_.n_batch, 1, options_.n_ctx);
  for (size_t part = 0; part < model_.model().placement().parts().size(); ++part) {
    PARLANCE_TRY(auto runner, PartRunner::create(model_, part, options_));
    parts_.push_back(std::move(runner));
  }
  logits_.resize(static_cast<size_t>(model_.model().n_vocab()));
  tokens_.reserve(static_cast<size_t>(std::min<int64_t>(options_.n_ctx, 1 << 20)));
  return {};
}

size_t Session::kv_bytes_per_token() const {
  const HyperParameters& hp = model_.hyper_parameters();
  return kv_layout(hp, options_, hp.n_layer).bytes_per_token();
}

size_t Session::workspace_bytes() const {
  size_t bytes = 0;
  for (const auto& part : parts_) bytes += part->workspace_bytes();
  return bytes;
}

void Session::truncate(int64_t n_tokens) {
  tokens_.resize(static_cast<size_t>(std::min<int64_t>(n_tokens, static_cast<int64_t>(tokens_.size()))));
  for (const auto& part : parts_) part->truncate(static_cast<int64_t>(tokens_.size()));
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
  for (const auto& part : parts_) part->stream().set_cancellation({&generation_, request_});
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

// The tokens that follow the current ones.
HostBatch Session::next_batch(std::span<const Token> tokens) const {
  const auto first = static_cast<int64_t>(tokens_.size());
  return {.tokens = tokens,
          .first = first,
          .n_kv_bound = align_up(first + static_cast<int64_t>(tokens.size()), kBoundStride)};
}

// Through all parts, each on its device. When cancelled, the logits are left as they were.
Result<void> Session::step(std::span<const Token> tokens) {
  const HostBatch batch = next_batch(tokens);
  for (const auto& part : parts_) PARLANCE_CHECK(part->grow(batch.first + batch.n_tokens()));
  for (const auto& part : parts_) {
    const Tensor result = part->step(batch, h_);
    if (!result)
      return cancelled() ? Result<void>() : part->stream().synchronize();  // which says what failed
    std::vector<float>& host = part == parts_.back() ? logits_ : h_;
    host.resize(static_cast<size_t>(result.n_elements()));
    PARLANCE_CHECK(part->stream().download(std::as_writable_bytes(std::span(host)), result));
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return {};
}

Result<void> Session::fill_with_noise(int64_t n_tokens) {
  const KvLayout layout = kv_layout(model_.hyper_parameters(), options_, 1);
  const int64_t widest = layout.n_head_kv * std::max(layout.head_dim_k, layout.head_dim_v);
  std::vector<float> noise(static_cast<size_t>(widest * options_.n_batch));
  std::mt19937 random(1);
  for (float& value : noise) value = static_cast<float>(random()) * 0x1p-31f - 1;

  while (static_cast<int64_t>(tokens_.size()) < n_tokens) {
    const int64_t n = std::min<int64_t>(n_tokens - static_cast<int64_t>(tokens_.size()), options_.n_batch);
    const std::vector<Token> tokens(static_cast<size_t>(n), 0);
    const HostBatch batch = next_batch(tokens);
    for (const auto& part : parts_) {
      PARLANCE_CHECK(part->grow(batch.first + n));
      PARLANCE_CHECK(part->write_noise(batch, noise));
    }
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }
  return {};
}

}  // namespace parlance
