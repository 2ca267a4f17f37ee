#include "grammar/token_masks.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/parameter.h"

namespace parlance {

namespace {

constexpr size_t kTableBytes = size_t{24} << 20;      // a larger table is replaced before the next token
constexpr size_t kMostTableBytes = size_t{96} << 20;  // a mask that needs more is given up
constexpr uint64_t kMostWork = 4'000'000;             // of one mask, in the recogniser's units
// Of a state that is read in more ways than this the vocabulary is looked at once for all of them.
constexpr size_t kWaysApart = 8;

}  // namespace

int64_t TokenMask::n_allowed() const {
  int64_t n = 0;
  for (const uint64_t word : bits_) n += std::popcount(word);
  return n;
}

Result<std::shared_ptr<TokenMasks>> TokenMasks::make(std::shared_ptr<const Grammar> grammar,
                                                     std::shared_ptr<const TokenTrie> trie) {
  std::shared_ptr<TokenMasks> masks(new TokenMasks(std::move(grammar), std::move(trie)));
  const Tokenizer& tokenizer = masks->trie_->tokenizer();
  for (const TokenTerminal& terminal : masks->grammar_->terminals()) {
    const Token token = terminal.text.empty() ? terminal.id : tokenizer.find(terminal.text).value_or(-1);
    if (token < 0 || token >= tokenizer.n_vocab()) {
      return fail(ErrorCode::invalid_argument,
                  "{}: the model's vocabulary has no token {}; write the text in quotation marks",
                  Parameter::grammar,
                  terminal.text.empty() ? fmt::format("<[{}]>", terminal.id) : terminal.text);
    }
    masks->terminals_.push_back(token);
  }
  return masks;
}

size_t TokenMasks::bytes() const {
  const std::lock_guard lock(mutex_);
  return grammar_->bytes() + (table_ ? table_->bytes() : 0);
}

GrammarState TokenMasks::begin() {
  const std::lock_guard lock(mutex_);
  if (!table_ || table_->bytes() > kTableBytes) table_ = std::make_shared<Table>(grammar_);
  GrammarState state;
  state.masks_ = shared_from_this();
  state.table_ = table_;
  state.move_to(table_->recogniser.begin());
  return state;
}

// Brings the state into the newest table, which has no more than so many bytes.
void TokenMasks::renew(GrammarState& state, size_t most_bytes) {
  if (table_->bytes() > most_bytes) table_ = std::make_shared<Table>(grammar_);
  if (state.table_ == table_) return;
  state.at_ = table_->recogniser.take_over(state.table_->recogniser, state.at_);
  state.table_ = table_;
}

// Visits the nodes begin to end - 1, all below the same one, that a text may reach which is in state `from`
// at the node above them: visit(node, state). False when that takes too much.
template <class Visit>
bool TokenMasks::walk(Table& table, RecogniserState from, uint32_t begin, uint32_t end, Visit visit) const {
  if (begin == end || from == Recogniser::kDead) return true;
  const std::span<const TokenTrie::Node> nodes = trie_->nodes();
  Recogniser& recogniser = table.recogniser;
  std::vector<RecogniserState> path(trie_->longest() + 1);  // by depth
  const uint32_t top = nodes[begin].depth - 1u;
  path[0] = from;
  for (uint32_t node = begin; node < end;) {
    const uint32_t depth = nodes[node].depth - top;
    const RecogniserState state = recogniser.step(path[depth - 1], nodes[node].byte);
    if (state == Recogniser::kDead) {
      node = nodes[node].end;
      continue;
    }
    visit(node, state);
    path[depth] = state;
    ++node;
    if (recogniser.bytes() > kMostTableBytes || recogniser.work() > table.work_limit) return false;
  }
  return true;
}

const TokenMasks::RuleMask* TokenMasks::rule_mask(Table& table, Grammar::State at) const {
  if (const auto known = table.rule_masks.find(at); known != table.rule_masks.end()) return &known->second;
  RuleMask mask{TokenMask(trie_->tokenizer().n_vocab()), {}, 0};
  Recogniser& recogniser = table.recogniser;
  const auto n_nodes = static_cast<uint32_t>(trie_->nodes().size());
  const bool is_done =
      walk(table, recogniser.inside(at), 0, n_nodes, [&](uint32_t node, RecogniserState state) {
        if (recogniser.can_go_on(state)) allow_at(node, mask.inside);
        if (!recogniser.is_open(state)) return;
        mask.ends.push_back(node);
        mask.n_behind += trie_->nodes()[node].end - node;
      });
  if (!is_done) return nullptr;
  table.mask_bytes += mask.inside.bits().size_bytes() + mask.ends.size() * sizeof(uint32_t) + 64;
  return &table.rule_masks.emplace(at, std::move(mask)).first->second;
}

// Tokens of one way to go on: those of its rule, and behind its end those of the callers. False when that is
// not the cheaper way, or takes too much.
bool TokenMasks::add_way(Table& table, const Recogniser::Way& way, TokenMask& mask) const {
  const RuleMask* const own = rule_mask(table, way.at);
  if (!own || own->n_behind > trie_->nodes().size() / 4) return false;
  mask.allow(own->inside);
  const RecogniserState behind = table.recogniser.behind(way.stack);
  if (behind == Recogniser::kDead) return true;
  for (const uint32_t node : own->ends) {
    allow_at(node, mask);
    const auto visit = [&](uint32_t below, RecogniserState) { allow_at(below, mask); };
    if (!walk(table, behind, node + 1, trie_->nodes()[node].end, visit)) return false;
  }
  return true;
}

// Tokens whose bytes may come next. False when finding them takes too much.
bool TokenMasks::add_text(Table& table, RecogniserState state, TokenMask& mask) const {
  Recogniser& recogniser = table.recogniser;
  const auto ways = recogniser.ways(state);
  const std::vector<Recogniser::Way> own(ways.begin(), ways.end());
  const auto is_apart = [&](const Recogniser::Way& way) {
    const uint32_t depth = recogniser.depth(way.stack);
    return depth > 0 && depth + trie_->longest() <= Recogniser::kMostDepth;
  };
  if (own.size() <= kWaysApart && std::ranges::all_of(own, is_apart)) {
    if (std::ranges::all_of(own, [&](const Recogniser::Way& way) { return add_way(table, way, mask); }))
      return true;
  }
  const auto n_nodes = static_cast<uint32_t>(trie_->nodes().size());
  return walk(table, state, 0, n_nodes, [&](uint32_t node, RecogniserState) { allow_at(node, mask); });
}

// Tokens that the grammar names.
void TokenMasks::add_tokens(Table& table, RecogniserState state, TokenMask& mask) const {
  for (const Recogniser::Way& way : table.recogniser.ways(state)) {
    for (const Grammar::TokenEdge& edge : grammar_->token_edges(way.at)) {
      const Token named = terminals_[edge.terminal];
      if (!grammar_->terminals()[edge.terminal].is_negated) {
        mask.allow(named);
        continue;
      }
      const Tokenizer& tokenizer = trie_->tokenizer();
      for (Token token = 0; token < tokenizer.n_vocab(); ++token) {
        if (token != named && !tokenizer.is_end_of_generation(token)) mask.allow(token);
      }
    }
  }
}

std::shared_ptr<const TokenMask> TokenMasks::find_mask(Table& table, RecogniserState state) const {
  const RecogniserState alike = table.recogniser.representative(state, trie_->longest());
  if (const auto known = table.masks.find(alike); known != table.masks.end()) return known->second;
  table.work_limit = table.recogniser.work() + kMostWork;
  auto mask = std::make_shared<TokenMask>(trie_->tokenizer().n_vocab());
  if (!add_text(table, alike, *mask)) return nullptr;
  add_tokens(table, alike, *mask);
  if (table.recogniser.may_end(alike)) {
    for (const Token token : trie_->tokenizer().end_of_generation()) mask->allow(token);
  }
  table.mask_bytes += mask->bits().size_bytes() + 64;
  return table.masks[alike] = std::move(mask);
}

Result<std::shared_ptr<const TokenMask>> TokenMasks::mask(GrammarState& state) {
  const std::lock_guard lock(mutex_);
  renew(state, kTableBytes);
  auto mask = find_mask(*state.table_, state.at_);
  if (!mask) {  // it may have been the memory of other texts
    renew(state, 0);
    mask = find_mask(*state.table_, state.at_);
  }
  if (mask && !(mask->n_allowed() == 0 && state.table_->recogniser.gave_up())) return mask;
  table_ = std::make_shared<Table>(grammar_);
  return fail(
      ErrorCode::too_complex,
      "the grammar can be read in too many ways at once to find the next token; repeat less inside of "
      "repetitions, and let alternatives begin differently");
}

// By the token's bytes, and by what the grammar says of the token itself.
RecogniserState TokenMasks::step(Recogniser& recogniser, RecogniserState state, Token token) const {
  RecogniserState by_bytes = Recogniser::kDead;
  if (trie_->is_text(token)) {
    by_bytes = state;
    for (const char byte : trie_->tokenizer().piece(token)) {
      by_bytes = recogniser.step(by_bytes, static_cast<uint8_t>(byte));
      if (by_bytes == Recogniser::kDead) break;
    }
  }
  if (terminals_.empty() || trie_->tokenizer().is_end_of_generation(token)) return by_bytes;
  const RecogniserState by_token =
      recogniser.step_token(state, [&](uint32_t index, const TokenTerminal& terminal) {
        return (terminals_[index] == token) != terminal.is_negated;
      });
  return recogniser.either(by_bytes, by_token);
}

Result<std::shared_ptr<const TokenMask>> GrammarState::allowed() {
  return masks_->mask(*this);
}

bool GrammarState::advance(Token token) {
  const std::lock_guard lock(masks_->mutex_);
  masks_->renew(*this, kTableBytes);
  const RecogniserState to = masks_->step(table_->recogniser, at_, token);
  if (to == Recogniser::kDead) return false;
  move_to(to);
  return true;
}

void GrammarState::move_to(RecogniserState at) {
  at_ = at;
  may_end_ = table_->recogniser.may_end(at);
  can_go_on_ = table_->recogniser.can_go_on(at);
}

}  // namespace parlance
