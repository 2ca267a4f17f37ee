#include "engine/session.h"

#include <algorithm>
#include <limits>
#include <random>

#include "base/checked.h"

namespace parlance {

namespace {

// A prompt's end often changes when it has become history: a template opens an answer in another way than it
// repeats one. So a snapshot is taken this many tokens before.
constexpr int64_t kChangingTokens = 8;

// Positions that memory stands at after a step that did not end.
constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

}  // namespace

KvLayout kv_layout(const HyperParameters& hp, const SessionOptions& options, int64_t n_layer) {
  return {.n_layer = n_layer,
          .n_head_kv = hp.n_head_kv,
          .head_dim_k = hp.head_dim_k,
          .head_dim_v = hp.head_dim_v,
          .policy = options.cache};
}

RecurrentLayout recurrent_layout(const HyperParameters& hp, int64_t n_layer) {
  return {.n_layer = n_layer,
          .n_channel = hp.delta_net.n_channel(),
          .n_kept = hp.delta_net.n_tap - 1,
          .head_dim = hp.delta_net.head_dim,
          .n_value_head = hp.delta_net.n_value_head};
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
  snapshots_ = Snapshots(state_bytes());
  logits_.resize(static_cast<size_t>(model_.model().n_vocab()));
  tokens_.reserve(static_cast<size_t>(std::min<int64_t>(options_.n_ctx, 1 << 20)));
  return {};
}

size_t Session::kv_bytes_per_token() const {
  const HyperParameters& hp = model_.hyper_parameters();
  return kv_layout(hp, options_, hp.n_layers_of(LayerKind::attention)).bytes_per_token();
}

size_t Session::state_bytes() const {
  size_t bytes = 0;
  for (const auto& part : parts_) bytes += part->state_bytes();
  return bytes;
}

size_t Session::workspace_bytes() const {
  size_t bytes = 0;
  for (const auto& part : parts_) bytes += part->workspace_bytes();
  return bytes;
}

void Session::truncate(int64_t n_tokens) {
  tokens_.resize(static_cast<size_t>(std::min<int64_t>(n_tokens, static_cast<int64_t>(tokens_.size()))));
  const auto n_left = static_cast<int64_t>(tokens_.size());
  for (const auto& part : parts_) part->truncate(n_left);
  snapshots_.truncate(n_left);
  if (n_computed_ > n_left) go_back(n_left);
}

// Takes the parts' memory to a position at or before n_tokens: as far as it reaches without recurrent states,
// else to a snapshot. At the start states count as zero, whatever they hold.
void Session::go_back(int64_t n_tokens) {
  n_computed_ = n_tokens;
  if (snapshots_.capacity() == 0) return;
  const Snapshot* snapshot = snapshots_.latest(n_tokens);
  n_computed_ = snapshot ? snapshot->n_tokens : 0;
  if (!snapshot) return;
  std::span<const std::byte> states = snapshot->states;
  for (const auto& part : parts_) {
    part->restore_states(states.first(part->state_bytes()));
    states = states.subspan(part->state_bytes());
  }
}

Result<void> Session::save_snapshot() {
  std::span<std::byte> states = snapshots_.add(n_computed_);
  for (const auto& part : parts_) {
    PARLANCE_CHECK(part->save_states(states.first(part->state_bytes())));
    states = states.subspan(part->state_bytes());
  }
  return {};
}

Result<std::span<const float>> Session::set_prompt(std::span<const Token> prompt) {
  if (prompt.empty()) return fail(ErrorCode::invalid_argument, "the prompt is empty; give it some text");
  const auto common =
      std::mismatch(prompt.begin(), prompt.end(), tokens_.begin(), tokens_.end()).first - prompt.begin();
  // The last token is computed again even when it is known: its logits are what is asked for.
  const auto kept = std::min<int64_t>(common, static_cast<int64_t>(prompt.size()) - 1);
  truncate(kept);
  return extend(prompt.subspan(static_cast<size_t>(kept)),
                static_cast<int64_t>(prompt.size()) - kChangingTokens);
}

Result<std::span<const float>> Session::append(std::span<const Token> tokens) {
  return extend(tokens, 0);
}

Result<std::span<const float>> Session::extend(std::span<const Token> tokens, int64_t snapshot_at) {
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
  const auto n_before = static_cast<int64_t>(tokens_.size());
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  for (const auto& part : parts_) part->stream().set_cancellation({&generation_, request_});
  if (const Result<void> computed = compute(snapshot_at); !computed) {
    n_computed_ = kUnknown;
    truncate(n_before);
    return tl::unexpected<Error>(computed.error());
  }
  return std::span<const float>(logits_);
}

// Computes the tokens that memory has not taken in, in batches; one of them ends at `snapshot_at`.
Result<void> Session::compute(int64_t snapshot_at) {
  const auto n_tokens = static_cast<int64_t>(tokens_.size());
  if (!snapshots_.is_worth_a_batch(snapshot_at)) snapshot_at = 0;
  while (n_computed_ < n_tokens) {
    const int64_t end = n_computed_ < snapshot_at ? snapshot_at : n_tokens;
    PARLANCE_CHECK(step(std::min(end - n_computed_, options_.n_batch)));
    if (cancelled()) return fail(ErrorCode::cancelled, "cancelled");
    if (n_computed_ == snapshot_at || snapshots_.is_due(n_computed_)) PARLANCE_CHECK(save_snapshot());
  }
  return {};
}

// The tokens that follow those computed.
HostBatch Session::next_batch(int64_t n_tokens) const {
  return {
      .tokens = std::span(tokens_).subspan(static_cast<size_t>(n_computed_), static_cast<size_t>(n_tokens)),
      .first = n_computed_,
      .n_kv_bound = align_up(n_computed_ + n_tokens, kBoundStride)};
}

// Through all parts, each on its device. When cancelled, the logits are left as they were.
Result<void> Session::step(int64_t n_tokens) {
  const HostBatch batch = next_batch(n_tokens);
  for (const auto& part : parts_) PARLANCE_CHECK(part->grow(batch.first + n_tokens));
  for (const auto& part : parts_) {
    const Tensor result = part->step(batch, h_);
    if (!result)
      return cancelled() ? Result<void>() : part->stream().synchronize();  // which says what failed
    std::vector<float>& host = part == parts_.back() ? logits_ : h_;
    host.resize(static_cast<size_t>(result.n_elements()));
    PARLANCE_CHECK(part->stream().download(std::as_writable_bytes(std::span(host)), result));
  }
  n_computed_ += n_tokens;
  return {};
}

Result<void> Session::fill_with_noise(int64_t n_tokens) {
  const KvLayout layout = kv_layout(model_.hyper_parameters(), options_, 1);
  const int64_t widest = layout.n_head_kv * std::max(layout.head_dim_k, layout.head_dim_v);
  std::vector<float> noise(static_cast<size_t>(widest * options_.n_batch));
  std::mt19937 random(1);
  for (float& value : noise) value = static_cast<float>(random()) * 0x1p-31f - 1;

  const auto n_before = static_cast<int64_t>(tokens_.size());
  if (n_before >= n_tokens) return {};
  n_computed_ = n_before;
  tokens_.resize(static_cast<size_t>(n_tokens), 0);
  while (n_computed_ < n_tokens) {
    const HostBatch batch = next_batch(std::min(n_tokens - n_computed_, options_.n_batch));
    for (const auto& part : parts_) {
      PARLANCE_CHECK(part->grow(batch.first + batch.n_tokens()));
      PARLANCE_CHECK(part->write_noise(batch, noise));
    }
    n_computed_ += batch.n_tokens();
  }
  if (snapshots_.capacity() > 0) {
    std::ranges::fill(snapshots_.add(n_tokens), std::byte{0});
    go_back(n_tokens);  // to zeros
  }
  return {};
}

}  // namespace parlance
