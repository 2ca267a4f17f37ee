#include "engine/session.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>

#include "base/checked.h"

namespace parlance {

namespace {

// A prompt's end often changes when it has become history: a template opens an answer in another way than it
// repeats one. So a snapshot is taken this many tokens before.
constexpr int64_t kChangingTokens = 8;

// In place of the tokens of noise: no prompt has it, so none is taken for it.
constexpr Token kNoise = -1;

// Positions that memory stands at after a step that did not end.
constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

}  // namespace

Result<std::unique_ptr<Session>> Session::create(const TextModel& model, const SessionOptions& options) {
  PARLANCE_TRY(auto context, Context::create(model, options));
  return create(std::move(context));
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<Context> context) {
  PARLANCE_TRY(const int seq, context->open_sequence());
  return std::unique_ptr<Session>(new Session(std::move(context), seq));
}

Session::Session(std::shared_ptr<Context> context, int seq)
    : context_(std::move(context)),
      options_(context_->options()),
      seq_(seq),
      pages_(context_->pools(), context_->layout().page_tokens),
      snapshots_(context_->state_bytes()) {
  logits_.resize(static_cast<size_t>(model().model().n_logits()));
  tokens_.reserve(static_cast<size_t>(std::min<int64_t>(options_.n_ctx, 1 << 20)));
}

Session::~Session() {
  remember(n_computed_);
  pages_.truncate(0);
  context_->close_sequence(seq_);
}

Result<std::unique_ptr<Session>> Session::fork() const {
  if (!context_->shares_prefixes()) {
    return fail(ErrorCode::unsupported, "{}: a model with recurrent layers cannot fork a session",
                model().file().name());
  }
  PARLANCE_TRY(auto twin, create(context_));
  twin->pages_ = pages_.fork();
  twin->tokens_ = tokens_;
  twin->n_computed_ = n_computed_;
  twin->first_embedded_ = first_embedded_;
  return twin;
}

void Session::truncate(int64_t n_tokens) {
  tokens_.resize(static_cast<size_t>(std::min<int64_t>(n_tokens, static_cast<int64_t>(tokens_.size()))));
  const auto n_left = static_cast<int64_t>(tokens_.size());
  if (n_left <= first_embedded_) first_embedded_ = kNoEmbedded;
  snapshots_.truncate(n_left);
  if (n_computed_ > n_left) go_back(n_left);
}

// Gives the prefix tree what it does not have yet of the first n_tokens.
void Session::remember(int64_t n_tokens) {
  n_tokens = std::min(n_tokens, first_embedded_);
  if (!context_->shares_prefixes() || n_tokens <= n_remembered_ || n_tokens > pages_.n_tokens()) return;
  pages_.publish(context_->tree(), std::span(tokens_).first(static_cast<size_t>(n_tokens)),
                 PrefixClass::conversation);
  n_remembered_ = n_tokens;
}

// Keeps the pages of the first n_tokens, as far as a sequence may go on from them.
void Session::cut_pages(int64_t n_tokens) {
  n_tokens = pages_.usable(n_tokens, context_->layout().page_rules());
  pages_.truncate(n_tokens);
  n_computed_ = n_tokens;
  n_remembered_ = std::min(n_remembered_, n_tokens);
}

// Takes the parts' memory to a position at or before n_tokens: as far as it reaches without recurrent states,
// else to a snapshot. At the start states count as zero, whatever they hold.
void Session::go_back(int64_t n_tokens) {
  const Snapshot* snapshot = snapshots_.latest(n_tokens);
  if (snapshots_.capacity() > 0) n_tokens = snapshot ? snapshot->n_tokens : 0;
  cut_pages(std::min(n_tokens, pages_.n_tokens()));
  if (!snapshot) return;
  std::span<const std::byte> states = snapshot->states;
  for (const auto& part : context_->parts()) {
    part->restore_states(states.first(part->state_bytes()));
    states = states.subspan(part->state_bytes());
  }
}

Result<void> Session::save_snapshot() {
  std::span<std::byte> states = snapshots_.add(n_computed_);
  for (const auto& part : context_->parts()) {
    PARLANCE_CHECK(part->save_states(states.first(part->state_bytes())));
    states = states.subspan(part->state_bytes());
  }
  return {};
}

Result<std::span<const float>> Session::set_prompt(std::span<const Token> prompt) {
  if (prompt.empty()) return fail(ErrorCode::invalid_argument, "the prompt is empty; give it some text");
  const auto n_prompt = static_cast<int64_t>(prompt.size());
  const auto common =
      std::mismatch(prompt.begin(), prompt.end(), tokens_.begin(), tokens_.end()).first - prompt.begin();
  // The last token is computed again even when it is known: its logits are what is asked for.
  const int64_t n_own = std::min<int64_t>(common, n_prompt - 1);
  PrefixTree::Claim claim;
  if (context_->shares_prefixes()) {
    claim = context_->tree().announce(prompt);
    PARLANCE_CHECK(take_prefix(prompt.first(prompt.size() - 1), n_own, claim));
  } else {
    truncate(n_own);
  }
  n_reused_ = n_computed_;
  auto logits = extend(prompt.subspan(tokens_.size()), n_prompt - kChangingTokens);
  if (logits) remember(n_computed_);  // others may begin like this, and end inside the last page
  return logits;
}

// Waits for what others compute of the prompt, then keeps the session's own n_own tokens of it or takes the
// longer beginning that the context knows.
Result<void> Session::take_prefix(std::span<const Token> prompt, int64_t n_own,
                                  const PrefixTree::Claim& claim) {
  PrefixTree& tree = context_->tree();
  constexpr std::chrono::hours kLongerThanAnyPrompt{24};
  if (tree.wait(prompt, &claim, kLongerThanAnyPrompt, [this] { return cancelled(); }) ==
      PrefixWait::cancelled) {
    return fail(ErrorCode::cancelled, "cancelled");
  }
  PrefixMatch match = tree.match(prompt, &claim);
  if (match.n_tokens <= std::min(n_own, n_computed_)) {
    for (const PageRef page : match.pages) context_->pools().release(page);
    if (n_own < n_computed_) remember(n_computed_);
    truncate(n_own);
    return {};
  }
  remember(n_computed_);
  pages_.truncate(0);
  tokens_.assign(prompt.begin(), prompt.begin() + match.n_tokens);
  first_embedded_ = kNoEmbedded;
  const int64_t n_tokens = match.n_tokens;
  pages_.adopt(std::move(match));
  n_remembered_ = n_tokens;
  cut_pages(n_tokens);
  return {};
}

Result<std::span<const float>> Session::append(std::span<const Token> tokens, int64_t n_outputs,
                                               const Embeddings& embeddings) {
  PARLANCE_CHECK(check(tokens, n_outputs, embeddings));
  const auto n_before = static_cast<int64_t>(tokens_.size());
  embeddings_ = {embeddings.rows, n_before + embeddings.first};
  n_outputs_ = n_outputs;
  if (!embeddings.rows.empty()) first_embedded_ = std::min(first_embedded_, embeddings_.first);
  auto logits = extend(tokens, 0);
  embeddings_ = {};
  n_outputs_ = 1;
  return logits;
}

Result<void> Session::check(std::span<const Token> tokens, int64_t n_outputs,
                            const Embeddings& embeddings) const {
  const int64_t n_embd = model().hyper_parameters().n_embd, n_tokens = std::ssize(tokens);
  const int64_t n_rows = std::ssize(embeddings.rows) / n_embd;
  if (n_outputs < 1 || n_outputs > std::min(options_.n_outputs, n_tokens)) {
    return fail(ErrorCode::invalid_argument,
                "the logits of {} of {} tokens are wanted, the context was made for up to {}", n_outputs,
                n_tokens, options_.n_outputs);
  }
  if (embeddings.rows.empty()) return {};
  if (!options_.takes_embeddings || options_.cache.has_exact_pages() || !context_->shares_prefixes()) {
    return fail(
        ErrorCode::unsupported,
        "{}: rows in place of embeddings need a context for them, without --cache-recent and --cache-sink, "
        "and a model without recurrent layers",
        model().file().name());
  }
  if (n_rows * n_embd != std::ssize(embeddings.rows) || embeddings.first < 0 ||
      embeddings.first + n_rows > n_tokens) {
    return fail(ErrorCode::invalid_argument, "{} values from token {} on are not rows of {} for {} tokens",
                embeddings.rows.size(), embeddings.first, n_embd, n_tokens);
  }
  return {};
}

Result<std::span<const float>> Session::extend(std::span<const Token> tokens, int64_t snapshot_at) {
  if (tokens.empty()) return fail(ErrorCode::invalid_argument, "there are no tokens to append");
  const auto n_after = static_cast<int64_t>(tokens_.size() + tokens.size());
  if (n_after > options_.n_ctx) {
    return fail(ErrorCode::invalid_argument,
                "the text has {} tokens and the context holds {}; shorten it or raise --ctx-size", n_after,
                options_.n_ctx);
  }
  const auto is_embedded = [&](int64_t pos) {
    return pos >= embeddings_.first &&
           pos < embeddings_.first + std::ssize(embeddings_.rows) / model().hyper_parameters().n_embd;
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token token = tokens[i];
    if (is_embedded(std::ssize(tokens_) + static_cast<int64_t>(i)) && token == kEmbedded) continue;
    if (token < 0 || token >= model().model().n_vocab()) {
      return fail(ErrorCode::invalid_argument, "token {} is outside the vocabulary of {}", token,
                  model().model().n_vocab());
    }
  }
  const auto n_before = static_cast<int64_t>(tokens_.size());
  logits_.resize(static_cast<size_t>(n_outputs_ * model().model().n_logits()));
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  if (const Result<void> computed = compute(snapshot_at); !computed) {
    // What a step left half done is behind the computed tokens, but in recurrent states.
    if (context_->shares_prefixes()) {
      cut_pages(n_computed_);
    } else {
      n_computed_ = kUnknown;
    }
    truncate(n_before);
    return tl::unexpected<Error>(computed.error());
  }
  return std::span<const float>(logits_);
}

// Computes the tokens that memory has not taken in, in batches that end on multiples of their size, so that
// a text is cut in the same places however much of it was known; one of them ends at `snapshot_at`.
Result<void> Session::compute(int64_t snapshot_at) {
  const auto n_tokens = static_cast<int64_t>(tokens_.size());
  if (!snapshots_.is_worth_a_batch(snapshot_at)) snapshot_at = 0;
  while (n_computed_ < n_tokens) {
    const int64_t end = n_computed_ < snapshot_at ? snapshot_at : n_tokens;
    PARLANCE_CHECK(step(std::min(end - n_computed_, options_.n_batch - n_computed_ % options_.n_batch)));
    if (cancelled()) return fail(ErrorCode::cancelled, "cancelled");
    if (n_computed_ == snapshot_at || snapshots_.is_due(n_computed_)) PARLANCE_CHECK(save_snapshot());
    remember(n_computed_ - n_computed_ % context_->layout().page_tokens);
  }
  return {};
}

// The tokens that follow those computed, with the rows and outputs that are theirs.
HostBatch Session::next_batch(int64_t n_tokens) const {
  HostBatch batch{
      .seq = seq_,
      .tokens = std::span(tokens_).subspan(static_cast<size_t>(n_computed_), static_cast<size_t>(n_tokens)),
      .first = n_computed_,
      .n_kv_bound = align_up(n_computed_ + n_tokens, kBoundStride)};
  const int64_t end = n_computed_ + n_tokens, n_embd = model().hyper_parameters().n_embd;
  batch.n_outputs = std::max<int64_t>(1, end - std::max(n_computed_, first_output()));
  const int64_t from = std::max(n_computed_, embeddings_.first);
  const int64_t to = std::min(end, embeddings_.first + std::ssize(embeddings_.rows) / n_embd);
  if (from < to) {
    batch.embd = embeddings_.rows.subspan(static_cast<size_t>((from - embeddings_.first) * n_embd),
                                          static_cast<size_t>((to - from) * n_embd));
    batch.first_embd = from - n_computed_;
  }
  return batch;
}

// The page before which, from the first pages on, the main ones are read: those that have left the window,
// and those that have no exact one any more.
int32_t Session::main_end() const {
  const KvLayout& layout = context_->layout();
  if (!options_.cache.has_exact_pages()) return static_cast<int32_t>(pages_.pages().size());
  int64_t end = std::max<int64_t>(0, n_computed_ - options_.cache.n_recent) / layout.page_tokens;
  for (auto page = static_cast<int64_t>(pages_.pages().size()) - 1; page >= end; --page) {
    if (pages_.pages()[static_cast<size_t>(page)].exact < 0) end = page + 1;
  }
  return static_cast<int32_t>(std::max(end, layout.n_sink_pages()));
}

// Compresses pages that the next step reads and that are no longer recent.
Result<void> Session::compress_left_behind() {
  if (!options_.cache.has_exact_pages()) return {};
  std::vector<KvCache::Move> moves;
  bool is_full = false;
  const auto end = static_cast<size_t>(main_end());
  for (auto page = static_cast<size_t>(context_->layout().n_sink_pages()); page < end; ++page) {
    const PageRef ref = pages_.pages()[page];
    if (ref.main >= 0) continue;
    auto twin = pages_.add_main(page);
    if (!twin && context_->tree().evict({.main = 1, .exact = 0})) twin = pages_.add_main(page);
    is_full = !twin;
    if (is_full) break;
    if (twin->is_new) moves.push_back({ref.exact, twin->main});
  }
  for (const auto& part : context_->parts()) {  // of no request: nobody may find main pages that were never filled
    part->cache().compress(part->stream(), moves);
  }
  if (is_full)
    return fail(ErrorCode::out_of_memory, "the KV cache is full; raise --ctx-size or shorten the text");
  if (!moves.empty()) {  // the tree learns of the compressed pages, or it would hold on to the exact ones
    n_remembered_ = 0;
    remember(std::min(static_cast<int64_t>(end) * context_->layout().page_tokens, n_computed_));
  }
  for (auto page = static_cast<size_t>(context_->layout().n_sink_pages()); page < end; ++page) {
    pages_.drop_exact(page);
  }
  return {};
}

// Pages for positions up to n_tokens, written by nobody else.
Result<void> Session::make_room(int64_t n_tokens) {
  const PageKind kind = context_->layout().page_rules().written;
  SequencePages::Extension room = pages_.extend(n_tokens, kind);
  if (room.outcome == SequencePages::Extension::no_room) {
    PageCounts wanted;
    wanted[kind] =
        static_cast<int32_t>(div_up<int64_t>(n_tokens - n_computed_, context_->layout().page_tokens) + 1);
    context_->tree().evict(wanted);
    room = pages_.extend(n_tokens, kind);
  }
  if (room.outcome != SequencePages::Extension::done) {
    return fail(ErrorCode::out_of_memory,
                "the KV cache has no pages left for {} positions beside what other sequences hold; raise "
                "--ctx-size or end a sequence",
                n_tokens);
  }
  if (room.copy) {
    for (const auto& part : context_->parts()) part->cache().copy_page(part->stream(), *room.copy);
  }
  return {};
}

// Through all parts, each on its device. When cancelled, the logits are left as they were.
Result<void> Session::step(int64_t n_tokens) {
  const std::lock_guard lock(context_->compute_mutex());
  PARLANCE_CHECK(compress_left_behind());
  const HostBatch batch = next_batch(n_tokens);
  const auto main_first = static_cast<int32_t>(context_->layout().n_sink_pages());
  const int32_t main_last = main_end();
  PARLANCE_CHECK(make_room(batch.first + n_tokens));
  for (const auto& part : context_->parts())
    part->cache().set_pages(seq_, pages_.pages(), main_first, main_last);
  for (const auto& part : context_->parts()) {
    const CancellableWork work(part->stream(), request_);
    const Tensor result = part->step(batch, h_);
    if (!result)
      return cancelled() ? Result<void>() : part->stream().synchronize();  // which says what failed
    const auto n_values = static_cast<size_t>(result.n_elements());
    std::span<float> host;
    if (part ==
        context_->parts().back()) {  // what is before the first output is overwritten by the next step
      const int64_t row = std::max<int64_t>(0, n_computed_ - first_output());
      host = std::span(logits_).subspan(static_cast<size_t>(row * model().model().n_logits()), n_values);
    } else {
      h_.resize(n_values);
      host = h_;
    }
    PARLANCE_CHECK(part->stream().download(std::as_writable_bytes(host), result));
  }
  n_computed_ += n_tokens;
  return {};
}

Result<void> Session::fill_with_noise(int64_t n_tokens) {
  const KvLayout& layout = context_->layout();
  const int64_t widest = layout.n_head_kv * std::max(layout.head_dim_k, layout.head_dim_v);
  std::vector<float> noise(static_cast<size_t>(widest * options_.n_batch));
  std::mt19937 random(1);
  for (float& value : noise) value = static_cast<float>(random()) * 0x1p-31f - 1;

  const auto n_before = static_cast<int64_t>(tokens_.size());
  if (n_before >= n_tokens) return {};
  const std::lock_guard lock(context_->compute_mutex());
  const auto main_first = static_cast<int32_t>(layout.n_sink_pages());
  n_computed_ = n_before;
  tokens_.resize(static_cast<size_t>(n_tokens), kNoise);
  while (n_computed_ < n_tokens) {
    PARLANCE_CHECK(compress_left_behind());
    const HostBatch batch = next_batch(std::min(n_tokens - n_computed_, options_.n_batch));
    const int32_t main_last = main_end();
    PARLANCE_CHECK(make_room(batch.first + batch.n_tokens()));
    for (const auto& part : context_->parts()) {
      part->cache().set_pages(seq_, pages_.pages(), main_first, main_last);
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
