#include "grammar/recogniser.h"

#include <algorithm>
#include <utility>

namespace parlance {

namespace {

constexpr size_t kFewWays = 16;  // among which looking is faster than a table

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9FB21C651E98DF25u;
  return hash ^ hash >> 32;
}

}  // namespace

Recogniser::Recogniser(std::shared_ptr<const Grammar> grammar) : grammar_(std::move(grammar)) {
  StackNode bottom, open;
  bottom.is_bottom = true;
  open.is_open = true;
  number_of(std::move(bottom));
  number_of(std::move(open));
  number_of(State{});  // kDead
  Draft draft;
  if (grammar_->root() != Grammar::kNowhere) add(draft, {grammar_->root(), kBottom});
  draft.may_end = grammar_->root_may_be_empty();
  begin_ = finish(draft);
}

RecogniserState Recogniser::find_step(RecogniserState state, uint8_t byte, uint8_t byte_class) {
  Draft draft;
  for (const Way& way : states_[state].ways) {
    const Grammar::State to = grammar_->step(way.at, byte);
    if (to != Grammar::kNowhere) add(draft, {to, way.stack});
  }
  const RecogniserState to = finish(draft);
  std::vector<RecogniserState>& next = states_[state].next;
  if (next.empty()) {
    next.assign(grammar_->n_classes(), kUnknown);
    bytes_ += next.size() * sizeof(RecogniserState);
  }
  return next[byte_class] = to;
}

RecogniserState Recogniser::either(RecogniserState a, RecogniserState b) {
  if (a == kDead || a == b) return b;
  if (b == kDead) return a;
  Draft draft;
  for (const RecogniserState state : {a, b}) {
    for (const Way& way : states_[state].ways) add(draft, way);
    draft.may_end |= states_[state].may_end;
    draft.is_open |= states_[state].is_open;
  }
  return finish(draft);
}

RecogniserState Recogniser::inside(Grammar::State at) {
  State state;
  state.ways = {{at, kOpen}};
  return number_of(std::move(state));
}

RecogniserState Recogniser::behind(Stack stack) {
  if (const auto known = behind_.find(stack); known != behind_.end()) return known->second;
  Draft draft;
  draft.may_end = stacks_[stack].is_bottom;
  draft.is_open = stacks_[stack].is_open;
  const std::vector<Frame> frames = stacks_[stack].frames;
  for (const Frame& frame : frames) add(draft, {frame.back, frame.below});
  const RecogniserState state = finish(draft);
  bytes_ += 32;
  return behind_[stack] = state;
}

// Adds a way; one at the same place takes its stacks in.
void Recogniser::add(Draft& draft, Way way) {
  auto place = static_cast<uint32_t>(draft.ways.size());
  if (draft.ways.size() < kFewWays) {
    place = static_cast<uint32_t>(std::ranges::find(draft.ways, way.at, &Way::at) - draft.ways.begin());
  } else {
    if (draft.places.empty()) {
      for (uint32_t i = 0; i < draft.ways.size(); ++i) draft.places.emplace(draft.ways[i].at, i);
    }
    place = draft.places.try_emplace(way.at, place).first->second;
  }
  if (place == draft.ways.size()) {
    draft.ways.push_back(way);
  } else {
    const Stack joined = join(draft.ways[place].stack, way.stack);
    if (joined == draft.ways[place].stack) return;
    draft.ways[place].stack = joined;
  }
  draft.todo.push_back(place);
}

// What is reached without a byte: where ended rules were called from, and the rules that are called.
void Recogniser::follow(Draft& draft) {
  while (!draft.todo.empty()) {
    const Way way = draft.ways[draft.todo.back()];
    draft.todo.pop_back();
    ++work_;
    if (draft.ways.size() > kMostWays || n_joins_ > kMostJoins) return;  // it is given up
    if (grammar_->accepts(way.at)) {
      draft.may_end |= stacks_[way.stack].is_bottom;
      draft.is_open |= stacks_[way.stack].is_open;
      for (size_t i = 0; i < stacks_[way.stack].frames.size(); ++i) {
        const Frame frame = stacks_[way.stack].frames[i];
        add(draft, {frame.back, frame.below});
      }
    }
    grammar_->for_each_call(way.at, [&](const Grammar::Call& call) {
      if (grammar_->is_last(call.back)) return add(draft, {call.start, way.stack});
      if (stacks_[way.stack].depth < kMostDepth) add(draft, {call.start, push(way.stack, call.back)});
    });
  }
}

RecogniserState Recogniser::finish(Draft& draft) {
  follow(draft);
  if (draft.ways.size() > kMostWays || std::exchange(n_joins_, 0) > kMostJoins) {
    gave_up_ = true;
    return kDead;
  }
  State state;
  for (const Way& way : draft.ways) {
    if (grammar_->has_edges(way.at)) state.ways.push_back(way);
  }
  std::ranges::sort(state.ways, {}, &Way::at);
  state.may_end = draft.may_end;
  state.is_open = draft.is_open;
  return number_of(std::move(state));
}

RecogniserState Recogniser::number_of(State state) {
  uint64_t hash = state.may_end + 2u * state.is_open;
  for (const Way& way : state.ways) hash = mix(hash, uint64_t{way.at} << 32 | way.stack);
  const auto [begin, end] = state_numbers_.equal_range(hash);
  for (auto i = begin; i != end; ++i) {
    const State& other = states_[i->second];
    if (other.may_end == state.may_end && other.is_open == state.is_open && other.ways == state.ways)
      return i->second;
  }
  bytes_ += sizeof(State) + state.ways.size() * sizeof(Way) + 32;
  states_.push_back(std::move(state));
  const auto number = static_cast<RecogniserState>(states_.size() - 1);
  state_numbers_.emplace(hash, number);
  return number;
}

Recogniser::Stack Recogniser::number_of(StackNode node) {
  uint64_t hash = node.is_bottom + 2u * node.is_open;
  for (const Frame& frame : node.frames) hash = mix(hash, uint64_t{frame.back} << 32 | frame.below);
  const auto [begin, end] = stack_numbers_.equal_range(hash);
  for (auto i = begin; i != end; ++i) {
    if (stacks_[i->second] == node) return i->second;
  }
  bytes_ += sizeof(StackNode) + node.frames.size() * sizeof(Frame) + 32;
  stacks_.push_back(std::move(node));
  const auto number = static_cast<Stack>(stacks_.size() - 1);
  stack_numbers_.emplace(hash, number);
  return number;
}

Recogniser::Stack Recogniser::push(Stack below, Grammar::State back) {
  StackNode node;
  node.frames = {{back, below}};
  node.depth = stacks_[below].depth + 1;
  return number_of(std::move(node));
}

// Frames with the same place to go back to become one, so that the same set of stacks always has the same
// number.
void Recogniser::add_frame(StackNode& node, Frame frame) {
  const auto at = std::ranges::lower_bound(node.frames, frame.back, {}, &Frame::back);
  if (at != node.frames.end() && at->back == frame.back) {
    at->below = join(at->below, frame.below);
  } else {
    node.frames.insert(at, frame);
  }
}

// The stacks of both. It calls itself no deeper than stacks are.
Recogniser::Stack Recogniser::join(Stack a, Stack b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);
  const uint64_t key = uint64_t{a} << 32 | b;
  if (const auto known = joins_.find(key); known != joins_.end()) return known->second;
  if (++n_joins_ > kMostJoins) return a;  // the state is given up
  StackNode node = stacks_[a];
  const std::vector<Frame> others = stacks_[b].frames;
  node.is_bottom |= stacks_[b].is_bottom;
  node.is_open |= stacks_[b].is_open;
  node.depth = std::max(node.depth, stacks_[b].depth);
  for (const Frame& other : others) add_frame(node, other);
  if (n_joins_ > kMostJoins) return a;
  bytes_ += 32;
  return joins_[key] = number_of(std::move(node));
}

Recogniser::Stack Recogniser::representative_stack(Stack stack, uint32_t n_bytes) {
  if (const auto known = representative_stacks_.find(stack); known != representative_stacks_.end())
    return known->second;
  const StackNode original = stacks_[stack];
  StackNode node = original;
  node.frames.clear();
  for (const Frame& frame : original.frames) {
    const Frame alike = {grammar_->representative(frame.back, n_bytes),
                         representative_stack(frame.below, n_bytes)};
    add_frame(node, alike);
  }
  bytes_ += 32;
  return representative_stacks_[stack] = number_of(std::move(node));
}

RecogniserState Recogniser::representative(RecogniserState state, uint32_t n_bytes) {
  if (representative_bytes_ != n_bytes) representative_stacks_.clear();
  representative_bytes_ = n_bytes;
  State alike;
  alike.may_end = states_[state].may_end;
  alike.is_open = states_[state].is_open;
  const std::vector<Way> ways = states_[state].ways;
  for (const Way& way : ways) alike.ways.push_back({way.at, representative_stack(way.stack, n_bytes)});
  return std::exchange(n_joins_, 0) > kMostJoins ? state : number_of(std::move(alike));
}

Recogniser::Stack Recogniser::take_over_stack(const Recogniser& other, Stack stack,
                                              std::unordered_map<Stack, Stack>& known) {
  if (const auto found = known.find(stack); found != known.end()) return found->second;
  StackNode node = other.stacks_[stack];
  for (Frame& frame : node.frames) frame.below = take_over_stack(other, frame.below, known);
  return known[stack] = number_of(std::move(node));
}

RecogniserState Recogniser::take_over(const Recogniser& other, RecogniserState state) {
  std::unordered_map<Stack, Stack> known;
  State same;
  same.may_end = other.states_[state].may_end;
  same.is_open = other.states_[state].is_open;
  for (const Way& way : other.states_[state].ways)
    same.ways.push_back({way.at, take_over_stack(other, way.stack, known)});
  return number_of(std::move(same));
}

}  // namespace parlance
