#include "engine/sequence.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/parameter.h"
#include "engine/context.h"

namespace parlance {

namespace {

// A prompt's end often changes when it has become history: a template opens an answer in another way than it
// repeats one. So a snapshot is taken this many tokens before.
constexpr int64_t kChangingTokens = 8;

Result<void> check_length(const Context& context, int64_t n_tokens) {
  const int64_t n_ctx = context.options().n_ctx;
  if (n_tokens <= n_ctx) return {};
  return fail(ErrorCode::invalid_argument,
              "the text has {} tokens and the context holds {}; shorten it or raise {}", n_tokens, n_ctx,
              Parameter::ctx_size);
}

Result<void> check_tokens(const Context& context, std::span<const Token> tokens,
                          const Embeddings& embeddings) {
  const int64_t n_embd = context.model().hyper_parameters().n_embd;
  const int64_t n_rows = std::ssize(embeddings.rows) / n_embd;
  if (!embeddings.rows.empty() && !context.options().takes_embeddings) {
    return fail(ErrorCode::unsupported, "{}: rows in place of embeddings need a context that takes them",
                context.model().file().name());
  }
  if (n_rows * n_embd != std::ssize(embeddings.rows) || embeddings.first < 0 ||
      embeddings.first + n_rows > std::ssize(tokens)) {
    return fail(ErrorCode::invalid_argument, "{} values from token {} on are not rows of {} for {} tokens",
                embeddings.rows.size(), embeddings.first, n_embd, tokens.size());
  }
  const int64_t n_vocab = context.model().model().n_vocab();
  for (int64_t i = 0; i < std::ssize(tokens); ++i) {
    const Token token = tokens[static_cast<size_t>(i)];
    const bool has_row = i >= embeddings.first && i < embeddings.first + n_rows;
    if (has_row ? token == kEmbedded : token >= 0 && token < n_vocab) continue;
    return fail(ErrorCode::invalid_argument, "token {} is outside the vocabulary of {}", token, n_vocab);
  }
  return {};
}

}  // namespace

Result<void> check_prompt(const Context& context, std::span<const Token> prompt) {
  if (prompt.empty()) return fail(ErrorCode::invalid_argument, "the prompt is empty; give it some text");
  PARLANCE_CHECK(check_length(context, std::ssize(prompt)));
  return check_tokens(context, prompt, {});
}

Result<std::unique_ptr<Sequence>> Sequence::open(std::shared_ptr<Context> context) {
  PARLANCE_TRY(const int slot, context->open_sequence());
  return std::unique_ptr<Sequence>(new Sequence(std::move(context), slot));
}

Sequence::Sequence(std::shared_ptr<Context> context, int slot)
    : context_(std::move(context)),
      slot_(slot),
      pages_(context_->pools(), context_->layout().page_tokens),
      snapshots_(context_->state_bytes()) {}

Sequence::~Sequence() {
  remember();
  pages_.truncate(0);
  context_->close_sequence(slot_);
}

Result<std::unique_ptr<Sequence>> Sequence::fork() const {
  PARLANCE_TRY(auto twin, open(context_));
  twin->pages_ = pages_.fork();
  twin->tokens_ = tokens_;
  twin->n_computed_ = n_computed_;
  twin->content_ = content_;
  twin->embedded_ = embedded_;
  twin->first_noise_ = first_noise_;
  twin->snapshots_ = snapshots_;
  if (context_->state_bytes() > 0) {
    twin->n_stored_ = kNowhere;  // what lies in this one's slot is not the twin's
    twin->go_back(n_computed_);
  }
  return twin;
}

int64_t Sequence::n_embd() const {
  return context_->model().hyper_parameters().n_embd;
}

Result<void> Sequence::append(std::span<const Token> tokens, const Embeddings& embeddings) {
  if (tokens.empty()) return fail(ErrorCode::invalid_argument, "there are no tokens to append");
  PARLANCE_CHECK(check_length(*context_, n_tokens() + std::ssize(tokens)));
  PARLANCE_CHECK(check_tokens(*context_, tokens, embeddings));
  const auto first = tokens_.insert(tokens_.end(), tokens.begin(), tokens.end()) + embeddings.first;
  n_drafted_ = 0;
  if (embeddings.rows.empty()) return {};
  embedded_.push_back({first - tokens_.begin(), {embeddings.rows.begin(), embeddings.rows.end()}});
  const auto n = static_cast<size_t>(n_embd());
  for (size_t row = 0; row < embeddings.rows.size() / n; ++row) {
    content_.push_back(content_hash(std::as_bytes(embeddings.rows.subspan(row * n, n))));
    first[static_cast<std::ptrdiff_t>(row)] = content_token(content_.back());
  }
  return {};
}

Result<void> Sequence::append_draft(std::span<const Token> tokens) {
  const int64_t n_before = n_drafted_;
  PARLANCE_CHECK(append(tokens));
  n_drafted_ = n_before + std::ssize(tokens);
  return {};
}

void Sequence::begin(std::span<const Token> prompt, const PrefixTree::Claim* claim) {
  const auto common =
      std::mismatch(prompt.begin(), prompt.end(), tokens_.begin(), tokens_.end()).first - prompt.begin();
  const int64_t n_own = std::min<int64_t>(common, std::ssize(prompt) - 1);
  if (n_own < n_computed_) remember();
  truncate(n_own);
  tokens_.insert(tokens_.end(), prompt.begin() + n_own, prompt.end());
  cuts_ = {std::ssize(prompt) - kChangingTokens};
  take_known(claim);
  n_reused_ = n_computed_;
}

void Sequence::take_known(const PrefixTree::Claim* claim, int64_t n_outputs) {
  if (n_tokens() <= n_outputs) return;
  PrefixMatch match =
      context_->tree().match(key().first(std::min(n_tokens() - n_outputs, first_noise_)), claim);
  // A third text may part where this one parts from what is known.
  if (match.n_known > match.n_tokens) cuts_.insert(cuts_.begin(), match.n_known);
  if (match.n_tokens <= n_computed_) {
    for (const PageRef page : match.pages) context_->pools().release(page);
    return;
  }
  remember();
  n_computed_ = n_remembered_ = n_stored_ = match.n_tokens;
  states_to_restore_ = match.states;
  if (match.states) snapshots_.add(n_computed_, match.states);
  pages_.truncate(0);
  pages_.adopt(std::move(match));
}

void Sequence::truncate(int64_t n) {
  tokens_.resize(static_cast<size_t>(std::min(n, n_tokens())));
  n = n_tokens();
  n_drafted_ = 0;
  while (!embedded_.empty() && embedded_.back().first >= n) embedded_.pop_back();
  if (!embedded_.empty()) {
    EmbeddedRun& last = embedded_.back();
    const auto n_kept = static_cast<size_t>((n - last.first) * n_embd());
    if (last.rows.size() > n_kept) last.rows.resize(n_kept);
  }
  content_.resize(static_cast<size_t>(count_content(tokens_)));
  if (n <= first_noise_) first_noise_ = kNowhere;
  snapshots_.truncate(n);
  if (n_computed_ > n) go_back(n);
}

void Sequence::give_up_memory() {
  remember();
  pages_.truncate(0);
  n_computed_ = n_remembered_ = n_stored_ = 0;
  snapshots_.truncate(0);
  states_to_restore_ = nullptr;
}

// Gives the prefix tree what it does not have yet of the first n_tokens.
void Sequence::remember(int64_t n_tokens) {
  n_tokens = std::min(n_tokens, first_noise_);
  if (n_tokens <= n_remembered_ || n_tokens > pages_.n_tokens()) return;
  pages_.publish(context_->tree(), key().first(n_tokens), PrefixClass::conversation);
  n_remembered_ = n_tokens;
}

// Keeps the pages of the first n_tokens, as far as a sequence may go on from them.
void Sequence::cut_pages(int64_t n_tokens) {
  n_tokens = pages_.usable(n_tokens, context_->layout().page_rules());
  pages_.truncate(n_tokens);
  n_computed_ = n_tokens;
  n_remembered_ = std::min(n_remembered_, n_tokens);
}

// Takes memory to a position at or before n_tokens: as far as it reaches without recurrent states or with
// those in memory, else to a snapshot. At the start states count as zero, whatever they hold.
void Sequence::go_back(int64_t n_tokens) {
  const bool has_states = n_stored_ <= n_tokens && n_tokens <= n_computed_;
  if (snapshots_.capacity() > 0 && !has_states) {
    const Snapshot* snapshot = snapshots_.latest(n_tokens);
    n_tokens = n_stored_ = snapshot ? snapshot->n_tokens : 0;
    states_to_restore_ = snapshot ? snapshot->states : nullptr;
  }
  const int64_t wanted = std::min(n_tokens, pages_.n_tokens());
  cut_pages(wanted);
  snapshots_.truncate(n_computed_);
  if (snapshots_.capacity() > 0 && n_computed_ < wanted) go_back(n_computed_);  // to states that fit the cut
}

int64_t Sequence::n_until_cut(int64_t n) const {
  for (const int64_t cut : cuts_) {
    if (cut > n_computed_ && cut < n_computed_ + n && snapshots_.is_worth_a_batch(cut))
      return cut - n_computed_;
  }
  return n;
}

Sequence::StateWay Sequence::state_way(int64_t n) const {
  const int64_t end = n_computed_ + n, n_settled = n_tokens() - n_drafted_;
  const bool has_room = end - n_stored_ <= context_->n_kept_inputs();
  return {n_stored_, has_room ? std::min(end, std::max(n_stored_, n_settled)) : end};
}

bool Sequence::wants_states() const {
  if (snapshots_.capacity() == 0 || n_stored_ == 0 || states_to_restore_) return false;
  const Snapshot* last = snapshots_.latest(n_stored_);
  return !last || last->n_tokens < n_stored_;
}

bool Sequence::wants_last_snapshot() const {
  return wants_states() && snapshots_.is_worth_a_batch(n_stored_);
}

bool Sequence::wants_snapshot() const {
  if (!wants_states()) return false;
  return snapshots_.is_due(n_stored_) ||
         (std::ranges::find(cuts_, n_stored_) != cuts_.end() && snapshots_.is_worth_a_batch(n_stored_));
}

void Sequence::add_snapshot(StateCopy states) {
  remember(n_stored_);
  if (first_noise_ == kNowhere) (void)context_->tree().insert_states(key().first(n_stored_), states);
  snapshots_.add(n_stored_, std::move(states));
}

// The page before which, from the first pages on, the main ones are read: those that have left the window,
// and those that have no exact one any more.
Sequence::PageTable Sequence::page_table() const {
  const KvLayout& layout = context_->layout();
  const auto pages = pages_.pages();
  const auto n_sink = layout.n_sink_pages();
  int64_t end = std::ssize(pages);
  if (context_->options().cache.has_exact_pages()) {
    end = std::max<int64_t>(0, n_computed_ - context_->options().cache.n_recent) / layout.page_tokens;
    for (auto page = std::ssize(pages) - 1; page >= end; --page) {
      if (pages[static_cast<size_t>(page)].exact < 0) end = page + 1;
    }
    end = std::max(end, n_sink);
  }
  return {pages, static_cast<int32_t>(n_sink), static_cast<int32_t>(end)};
}

Sequence::Compression Sequence::pages_to_compress() {
  Compression wanted;
  if (!context_->options().cache.has_exact_pages()) return wanted;
  const PageTable table = page_table();
  for (auto page = static_cast<size_t>(table.main_first); page < static_cast<size_t>(table.main_end);
       ++page) {
    const PageRef ref = pages_.pages()[page];
    if (ref.main >= 0) continue;
    auto twin = pages_.add_main(page);
    if (!twin && context_->tree().evict({.main = 1, .exact = 0})) twin = pages_.add_main(page);
    wanted.has_room = twin.has_value();
    if (!twin) break;
    wanted.moves.push_back({ref.exact, twin->main});
  }
  return wanted;
}

void Sequence::compressed(bool has_moved) {
  if (!context_->options().cache.has_exact_pages()) return;
  const PageTable table = page_table();
  if (has_moved) {  // the tree learns of the compressed pages, or it would hold on to the exact ones
    n_remembered_ = 0;
    remember(std::min<int64_t>(int64_t{table.main_end} * context_->layout().page_tokens, n_computed_));
  }
  for (auto page = static_cast<size_t>(table.main_first); page < static_cast<size_t>(table.main_end); ++page)
    pages_.drop_exact(page);
}

SequencePages::Extension Sequence::make_room(int64_t n) {
  if (n_computed_ + n <= pages_.n_tokens()) return {SequencePages::Extension::done, {}};  // a draft had it
  const PageKind kind = context_->layout().page_rules().written;
  SequencePages::Extension room = pages_.extend(n_computed_ + n, kind);
  if (room.outcome == SequencePages::Extension::no_room) {
    PageCounts wanted;
    wanted[kind] = static_cast<int32_t>(div_up<int64_t>(n, context_->layout().page_tokens) + 1);
    context_->tree().evict(wanted);
    room = pages_.extend(n_computed_ + n, kind);
  }
  return room;
}

std::vector<Sequence::RowsAt> Sequence::rows_at(int64_t first, int64_t n) const {
  std::vector<RowsAt> found;
  for (const EmbeddedRun& run : embedded_) {
    const int64_t end = run.first + std::ssize(run.rows) / n_embd();
    const int64_t from = std::max(first, run.first), to = std::min(first + n, end);
    if (from >= to) continue;
    found.push_back({from, std::span(run.rows).subspan(static_cast<size_t>((from - run.first) * n_embd()),
                                                       static_cast<size_t>((to - from) * n_embd()))});
  }
  return found;
}

void Sequence::computed(int64_t n) {
  n_stored_ = state_way(n).to;
  n_computed_ += n;
  if (pages_.n_tokens() > n_computed_) pages_.truncate(n_computed_);  // room that drafts had
}

void Sequence::remember_pages() {
  remember(n_computed_ - n_computed_ % context_->layout().page_tokens);
}

void Sequence::failed() {
  n_stored_ = kNowhere;  // states are half changed
  go_back(n_computed_);
}

void Sequence::replace(SequencePages pages, Content content) {
  remember();
  truncate(0);
  pages_ = std::move(pages);
  tokens_ = std::move(content.tokens);
  content_ = std::move(content.content);
  embedded_ = std::move(content.rows);
  n_remembered_ = 0;
  truncate(pages_.n_tokens());
  for (Snapshot& snapshot : content.snapshots) snapshots_.add(snapshot.n_tokens, std::move(snapshot.states));
  go_back(pages_.n_tokens());
}

void Sequence::add_noise(int64_t n) {
  first_noise_ = std::min(first_noise_, n_tokens());
  tokens_.resize(tokens_.size() + static_cast<size_t>(n), kNoise);
  n_drafted_ = 0;
}

// Recurrent layers are taken back to zeros, which are as good as any other noise.
void Sequence::noise_written(int64_t n) {
  n_computed_ += n;
  if (snapshots_.capacity() == 0) return;
  snapshots_.truncate(0);
  snapshots_.add(n_computed_, std::make_shared<const std::vector<std::byte>>(context_->state_bytes()));
  n_stored_ = kNowhere;
  go_back(n_computed_);
}

}  // namespace parlance
