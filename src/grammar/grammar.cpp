#include "grammar/grammar.h"

#include <algorithm>

#include "grammar/rules.h"

namespace parlance {

std::span<const Grammar::ByteEdge> Grammar::byte_edges(State state) const {
  const uint32_t begin = states_[state].byte_edges;
  return std::span(byte_edges_).subspan(begin, states_[state + 1].byte_edges - begin);
}

std::span<const Grammar::Call> Grammar::calls(State state) const {
  const uint32_t begin = states_[state].calls;
  return std::span(calls_).subspan(begin, states_[state + 1].calls - begin);
}

std::span<const Grammar::TokenEdge> Grammar::token_edges(State state) const {
  if (!is_real(state)) return {};
  const uint32_t begin = states_[state].token_edges;
  return std::span(token_edges_).subspan(begin, states_[state + 1].token_edges - begin);
}

const Grammar::Repeat& Grammar::repeat_of(State state) const {
  return *(std::ranges::upper_bound(repeats_, state, {}, &Repeat::base) - 1);
}

Grammar::Call Grammar::call_of_repeat(State state) const {
  const Repeat& repeat = repeat_of(state);
  const uint32_t k = state - repeat.base;
  if (k == repeat.top && repeat.most != kNoLimit) return {kNowhere, kNowhere};
  return {repeat.start, repeat.base + std::min(k + 1, repeat.top)};
}

// Rules have no empty text of their own: whoever calls one that may be empty goes on without calling.
bool Grammar::accepts(State state) const {
  if (is_real(state)) return states_[state].accepts;
  const Repeat& repeat = repeat_of(state);
  return state - repeat.base >= std::max(repeat.least, 1u);
}

bool Grammar::is_last(State state) const {
  if (is_real(state)) {
    return states_[state].accepts && byte_edges(state).empty() && calls(state).empty() &&
           token_edges(state).empty();
  }
  const Repeat& repeat = repeat_of(state);
  return repeat.most != kNoLimit && state - repeat.base == repeat.top;
}

Grammar::State Grammar::step(State state, uint8_t byte) const {
  if (!is_real(state)) return kNowhere;
  const auto edges = byte_edges(state);
  const auto edge = std::ranges::lower_bound(edges, byte, {}, &ByteEdge::last);
  return edge != edges.end() && edge->first <= byte ? edge->to : kNowhere;
}

Grammar::State Grammar::representative(State state, uint32_t n_bytes) const {
  if (is_real(state)) return state;
  const Repeat& repeat = repeat_of(state);
  const uint32_t k = state - repeat.base;
  if (repeat.most != kNoLimit && repeat.top - k <= n_bytes) return state;  // the end is near
  const uint32_t least = std::max(repeat.least, 1u);
  // Every repetition is a byte at least, so that within these bytes neither bound is met.
  if (k >= least) return repeat.base + least;
  return least - k > n_bytes ? repeat.base : state;
}

size_t Grammar::bytes() const {
  return states_.size() * sizeof(RealState) + byte_edges_.size() * sizeof(ByteEdge) +
         calls_.size() * sizeof(Call) + token_edges_.size() * sizeof(TokenEdge) +
         repeats_.size() * sizeof(Repeat) + starts_.size() * sizeof(State);
}

}  // namespace parlance
