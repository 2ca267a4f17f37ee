// Follows a grammar through a text, byte by byte. Where a text can be read in several ways it follows all of
// them at once. A state of it is a number, so that going on, copying and going back cost nothing; what leads
// from state to state is found out when it is first asked for and then remembered.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/grammar.h"

namespace parlance {

using RecogniserState = uint32_t;

class Recogniser {
 public:
  // Deeper calls of rules in each other are not followed.
  static constexpr uint32_t kMostDepth = 256;

  explicit Recogniser(std::shared_ptr<const Grammar> grammar);

  static constexpr RecogniserState kDead = 0;  // no text goes on from here
  RecogniserState begin() const { return begin_; }
  RecogniserState step(RecogniserState state, uint8_t byte) {
    const uint8_t byte_class = grammar_->class_of(byte);
    const std::vector<RecogniserState>& next = states_[state].next;
    if (!next.empty() && next[byte_class] != kUnknown) return next[byte_class];
    return find_step(state, byte, byte_class);
  }
  // By token edges for which is_meant(index, terminal) is true. The text's bytes are another way, by step().
  template <class IsMeant>
  RecogniserState step_token(RecogniserState state, IsMeant is_meant);
  // The state of both.
  RecogniserState either(RecogniserState a, RecogniserState b);

  bool may_end(RecogniserState state) const { return states_[state].may_end; }
  bool can_go_on(RecogniserState state) const { return !states_[state].ways.empty(); }

  // One way to read the text so far: where in a rule it is, and where to go on when that rule has ended.
  using Stack = uint32_t;
  struct Way {
    Grammar::State at;
    Stack stack;
    bool operator==(const Way&) const = default;
  };
  std::span<const Way> ways(RecogniserState state) const { return states_[state].ways; }

  // Within a rule alone, whoever called it: a state from which the rule's end leads out. Texts that come to
  // the end make states that are open.
  RecogniserState inside(Grammar::State at);
  bool is_open(RecogniserState state) const { return states_[state].is_open; }
  // Where those go on that called the rule of a way.
  RecogniserState behind(Stack stack);
  uint32_t depth(Stack stack) const { return stacks_[stack].depth; }

  // A state that cannot be told from this one within so many bytes (Grammar::representative()).
  RecogniserState representative(RecogniserState state, uint32_t n_bytes);

  // The same state in this recogniser, which is of the same grammar.
  RecogniserState take_over(const Recogniser& other, RecogniserState state);

  // Whether a state was given up for being read in too many ways at once.
  bool gave_up() const { return gave_up_; }
  size_t bytes() const { return bytes_; }
  // Grows with what was computed, by one for about a tenth of a microsecond.
  uint64_t work() const { return work_; }
  const Grammar& grammar() const { return *grammar_; }

 private:
  static constexpr RecogniserState kUnknown = UINT32_MAX;
  static constexpr size_t kMostWays = 2'000;
  static constexpr size_t kMostJoins = 20'000;  // for one state

  // All the ways in which rules may have called each other: a set of stacks, as a tree from the top down
  // whose equal parts are one. A frame is where its caller goes on.
  struct Frame {
    Grammar::State back;
    Stack below;
    bool operator==(const Frame&) const = default;
  };
  struct StackNode {
    std::vector<Frame> frames;  // by `back`, all different
    uint32_t depth = 0;
    bool is_bottom = false;  // here the text ends
    bool is_open = false;    // here what is looked at ends
    bool operator==(const StackNode&) const = default;
  };
  static constexpr Stack kBottom = 0, kOpen = 1;

  struct State {
    std::vector<Way> ways;  // by `at`, all different; each has edges
    bool may_end = false, is_open = false;
    std::vector<RecogniserState> next = {};  // by class of bytes; empty: none is known
  };
  // What is being found for a new state.
  struct Draft {
    std::vector<Way> ways;
    std::unordered_map<Grammar::State, uint32_t> places;  // once there are many
    std::vector<uint32_t> todo;
    bool may_end = false, is_open = false;
  };

  RecogniserState find_step(RecogniserState state, uint8_t byte, uint8_t byte_class);
  void add(Draft& draft, Way way);
  void follow(Draft& draft);
  RecogniserState finish(Draft& draft);
  RecogniserState number_of(State state);
  Stack number_of(StackNode node);
  Stack push(Stack below, Grammar::State back);
  void add_frame(StackNode& node, Frame frame);
  Stack join(Stack a, Stack b);
  Stack representative_stack(Stack stack, uint32_t n_bytes);
  Stack take_over_stack(const Recogniser& other, Stack stack, std::unordered_map<Stack, Stack>& known);

  std::shared_ptr<const Grammar> grammar_;
  std::vector<State> states_;
  std::vector<StackNode> stacks_;
  std::unordered_multimap<uint64_t, RecogniserState> state_numbers_;
  std::unordered_multimap<uint64_t, Stack> stack_numbers_;
  std::unordered_map<uint64_t, Stack> joins_;
  std::unordered_map<Stack, RecogniserState> behind_;
  std::unordered_map<Stack, Stack> representative_stacks_;
  uint32_t representative_bytes_ = 0;  // that these are of
  RecogniserState begin_ = kDead;
  size_t n_joins_ = 0;  // for the state that is being found
  size_t bytes_ = 0;
  uint64_t work_ = 0;
  bool gave_up_ = false;
};

template <class IsMeant>
RecogniserState Recogniser::step_token(RecogniserState state, IsMeant is_meant) {
  Draft draft;
  const std::vector<Way> ways = states_[state].ways;
  for (const Way& way : ways) {
    for (const Grammar::TokenEdge& edge : grammar_->token_edges(way.at)) {
      if (is_meant(edge.terminal, grammar_->terminals()[edge.terminal])) add(draft, {edge.to, way.stack});
    }
  }
  return finish(draft);
}

}  // namespace parlance
