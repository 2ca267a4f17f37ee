#include "grammar/rules.h"

#include <algorithm>

#include "grammar/encoding.h"

namespace parlance {

namespace {

// An automaton with more edges than this calls a rule for each set of code points in place of having its
// bytes in every place.
constexpr size_t kManyEdges = 100;

}  // namespace

RuleId Rules::add_rule(std::string name) {
  const AutomatonState start = add_state();
  rules_.push_back({.name = std::move(name), .ends = {start, add_state()}});
  return static_cast<RuleId>(rules_.size() - 1);
}

RuleId Rules::add_repeat(RuleId what, uint32_t least, uint32_t most) {
  rules_.push_back({.is_repeat = true, .what = what, .least = least, .most = most});
  return static_cast<RuleId>(rules_.size() - 1);
}

void Rules::text(AutomatonState from, std::string_view bytes, AutomatonState to) {
  for (const char byte : bytes) {
    const AutomatonState next = add_state();
    byte_range(from, static_cast<uint8_t>(byte), static_cast<uint8_t>(byte), next);
    from = next;
  }
  jump(from, to);
}

void Rules::call(AutomatonState from, RuleId rule, AutomatonState to) {
  nfa_.edges.push_back({from, to, symbol_of(rule), symbol_of(rule)});
}

void Rules::token(AutomatonState from, const TokenTerminal& terminal, AutomatonState to) {
  const auto found = std::ranges::find(terminals_, terminal);
  const Symbol symbol = symbol_of_terminal(static_cast<uint32_t>(found - terminals_.begin()));
  if (found == terminals_.end()) terminals_.push_back(terminal);
  nfa_.edges.push_back({from, to, symbol, symbol});
}

void Rules::code_points(AutomatonState from, const CodePointSet& set, Encoding encoding, AutomatonState to) {
  if (encoding == Encoding::utf8) {
    add_utf8(*this, from, set, to);
  } else {
    add_json_characters(*this, from, set, to);
  }
}

void Rules::code_points_by_call(AutomatonState from, const CodePointSet& set, Encoding encoding,
                                AutomatonState to) {
  const auto [found, is_new] = rules_of_sets_.try_emplace({encoding, set}, 0);
  if (is_new) {
    found->second = add_rule();
    const Ends ends = of(found->second);
    code_points(ends.start, set, encoding, ends.end);
  }
  call(from, found->second, to);
}

void Rules::texts_of(const Dfa& dfa, AutomatonState from, Encoding encoding, AutomatonState to) {
  std::vector<AutomatonState> states;
  for (AutomatonState state = 0; state < dfa.n_states(); ++state) {
    states.push_back(add_state());
    if (dfa.accepts[state]) jump(states.back(), to);
  }
  jump(from, states[0]);
  const bool by_call = dfa.edges.size() > kManyEdges;
  for (AutomatonState state = 0; state < dfa.n_states() && !is_too_large(); ++state) {
    std::map<AutomatonState, CodePointSet> sets;  // by target
    for (const Dfa::Edge& edge : dfa.of(state)) sets[edge.to].add({edge.first, edge.last});
    for (const auto& [target, set] : sets) {
      if (by_call) {
        code_points_by_call(states[state], set, encoding, states[target]);
      } else {
        code_points(states[state], set, encoding, states[target]);
      }
    }
  }
}

}  // namespace parlance
