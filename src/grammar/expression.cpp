#include "grammar/expression.h"

#include <algorithm>

namespace parlance {

namespace {

// A repetition of no more states than this is written out, which keeps what is regular in one automaton.
constexpr uint64_t kWrittenOut = 256;
constexpr uint64_t kStatesOfClass = 3;  // a guess: most are ASCII

}  // namespace

Expressions::Id Expressions::add(Node node) {
  for (const Id part : node.parts) {
    node.repeats = std::max(node.repeats, nodes_[part].repeats);
    node.depth = std::max(node.depth, nodes_[part].depth);
  }
  nodes_.push_back(std::move(node));
  return static_cast<Id>(nodes_.size() - 1);
}

Expressions::Id Expressions::text(std::string bytes) {
  Node node{.kind = Kind::text};
  node.size = bytes.size() + 1;
  node.bytes = std::move(bytes);
  return add(std::move(node));
}

Expressions::Id Expressions::one_of(CodePointSet set) {
  Node node{.kind = Kind::one_of};
  node.set = std::move(set);
  node.size = kStatesOfClass;
  return add(std::move(node));
}

Expressions::Id Expressions::token(TokenTerminal terminal) {
  Node node{.kind = Kind::token};
  node.terminal = std::move(terminal);
  return add(std::move(node));
}

Expressions::Id Expressions::rule(size_t number) {
  Node node{.kind = Kind::rule};
  node.number = static_cast<uint32_t>(number);
  return add(std::move(node));
}

Expressions::Id Expressions::sequence(std::vector<Id> parts) {
  if (parts.size() == 1) return parts[0];
  Node node{.kind = Kind::sequence};
  for (const Id part : parts) node.size += nodes_[part].size;
  node.parts = std::move(parts);
  return add(std::move(node));
}

Expressions::Id Expressions::choice(std::vector<Id> branches) {
  if (branches.size() == 1) return branches[0];
  Node node{.kind = Kind::choice};
  for (const Id branch : branches) node.size += nodes_[branch].size;
  node.parts = std::move(branches);
  return add(std::move(node));
}

Result<Expressions::Id> Expressions::repeat(Id what, uint32_t least, uint32_t most, Parameter parameter) {
  Node node{.kind = Kind::repeat};
  const uint32_t count = most == kNoLimit ? std::max(least, 1u) : std::max(most, 1u);
  if (count > kMostRepeats) {
    return fail(ErrorCode::too_complex, "{}: something is repeated {} times, at most {} are counted",
                parameter, count, kMostRepeats);
  }
  node.parts = {what};
  node.least = least;
  node.most = most;
  node.size = nodes_[what].size * count + 1;
  const Id id = add(std::move(node));
  nodes_[id].repeats *= count;
  if (nodes_[id].repeats > kMostNestedRepeats) {
    return fail(ErrorCode::too_complex,
                "{}: repetitions inside of repetitions make {} times, at most {} are counted", parameter,
                nodes_[id].repeats, kMostNestedRepeats);
  }
  if (++nodes_[id].depth > kMostNesting) {
    return fail(ErrorCode::too_complex, "{}: repetitions are nested deeper than {} levels", parameter,
                kMostNesting);
  }
  return id;
}

// `what` in a row: a loop, written out, or counted by a rule of its own.
void Expressions::emit_repeat(const Node& node, AutomatonState from, AutomatonState to, Rules& rules) const {
  const Id what = node.parts[0];
  if (node.least <= 1 && node.most == kNoLimit) {
    const AutomatonState begin = rules.add_state(), end = rules.add_state();
    rules.jump(from, begin);
    emit(what, begin, end, rules);
    rules.jump(end, begin);
    rules.jump(end, to);
    if (node.least == 0) rules.jump(from, to);
    return;
  }
  if (node.size > kWrittenOut && node.most > 1) {
    const RuleId one = rules.add_rule();
    const auto [start, end] = rules.of(one);
    emit(what, start, end, rules);
    rules.call(from, rules.add_repeat(one, node.least, node.most), to);
    return;
  }
  AutomatonState at = from;
  const uint32_t n_written = node.most == kNoLimit ? node.least : node.most;
  for (uint32_t i = 0; i < n_written; ++i) {
    if (i >= node.least) rules.jump(at, to);
    const AutomatonState next = rules.add_state();
    emit(what, at, next, rules);
    at = next;
  }
  if (node.most == kNoLimit) emit(what, at, at, rules);
  rules.jump(at, to);
}

// Calls itself as deeply as groups and repetitions are nested, which is bounded.
void Expressions::emit(Id id, AutomatonState from, AutomatonState to, Rules& rules) const {
  const Node& node = nodes_[id];
  if (rules.is_too_large()) return;
  switch (node.kind) {
    case Kind::text:
      return rules.text(from, node.bytes, to);
    case Kind::one_of:
      return rules.code_points(from, node.set, Encoding::utf8, to);
    case Kind::token:
      return rules.token(from, node.terminal, to);
    case Kind::rule:
      return rules.call(from, node.number, to);
    case Kind::sequence: {
      AutomatonState at = from;
      for (const Id part : node.parts) {
        const AutomatonState next = rules.add_state();
        emit(part, at, next, rules);
        at = next;
      }
      return rules.jump(at, to);
    }
    case Kind::choice:
      for (const Id branch : node.parts) {
        const AutomatonState begin = rules.add_state();
        rules.jump(from, begin);
        emit(branch, begin, to, rules);
      }
      return;
    case Kind::repeat:
      return emit_repeat(node, from, to, rules);
  }
}

Result<std::shared_ptr<const Grammar>> Expressions::compile(
    const std::vector<std::pair<std::string, Id>>& bodies, size_t root, Parameter parameter) const {
  Rules rules;
  for (const auto& [name, body] : bodies) rules.add_rule("the rule " + name);
  for (RuleId rule = 0; rule < bodies.size(); ++rule) {
    const auto [start, end] = rules.of(rule);
    emit(bodies[rule].second, start, end, rules);
  }
  return rules.compile(static_cast<RuleId>(root), parameter);
}

}  // namespace parlance
