#include "engine/sequence.h"

#include <algorithm>
#include <utility>

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
  drop_branches();
  remember();
  pages_.truncate(0);
  if (!is_parked()) context_->close_sequence(slot_);
}

Result<std::unique_ptr<Sequence>> Sequence::fork() const {
  PARLANCE_TRY(auto twin, open(context_));
  twin->sharing_ = sharing_;
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
  drop_branches();
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

void Sequence::append_branches(std::vector<DraftBranch> branches) {
  for (DraftBranch& branch : branches)
    branches_.push_back(
        {std::move(branch), -1, SequencePages(context_->pools(), context_->layout().page_tokens)});
}

int64_t Sequence::n_branch_tokens() const {
  int64_t n = 0;
  for (const Branch& branch : branches_) n += std::ssize(branch.way.tokens);
  return n;
}

std::vector<Token> Sequence::tokens_of_branch(int64_t branch) const {
  const DraftBranch& way = branches_[static_cast<size_t>(branch)].way;
  std::vector<Token> tokens;
  if (way.parent >= 0) {
    tokens = tokens_of_branch(way.parent);
    tokens.resize(static_cast<size_t>(way.place));
  } else {
    tokens.assign(tokens_.begin() + first_drafted(), tokens_.begin() + first_drafted() + way.place);
  }
  tokens.insert(tokens.end(), way.tokens.begin(), way.tokens.end());
  return tokens;
}

void Sequence::set_sharing(const Sharing& sharing) {
  if (sharing == sharing_) return;
  remember();
  const bool is_same_but_class = sharing.space == sharing_.space && !sharing.is_off && !sharing_.is_off;
  if (!is_same_but_class) {
    truncate(0);
    n_remembered_ = 0;
  }
  sharing_ = sharing;
}

void Sequence::begin(std::span<const Token> prompt, const PrefixTree::Claim* claim, int64_t n_outputs) {
  const auto common =
      std::mismatch(prompt.begin(), prompt.end(), tokens_.begin(), tokens_.end()).first - prompt.begin();
  const int64_t n_own = std::min<int64_t>(common, std::ssize(prompt) - n_outputs);
  if (n_own < n_computed_) remember();
  truncate(n_own);
  tokens_.insert(tokens_.end(), prompt.begin() + n_own, prompt.end());
  cuts_ = {std::ssize(prompt) - kChangingTokens};
  take_known(claim, n_outputs);
  n_reused_ = n_computed_;
}

void Sequence::take_known(const PrefixTree::Claim* claim, int64_t n_outputs) {
  if (n_tokens() <= n_outputs || sharing_.is_off) return;
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
  drop_branches();
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
  drop_branches();
  first_noise_ = std::min(first_noise_, n_tokens());
  tokens_.resize(tokens_.size() + static_cast<size_t>(n), kNoise);
  n_drafted_ = 0;
}

}  // namespace parlance
