// From rules to a grammar: every rule becomes a minimal deterministic automaton without the empty text, and
// what can never be said is taken out.
#include <algorithm>
#include <optional>
#include <utility>

#include "grammar/rules.h"

namespace parlance {

class GrammarCompiler {
 public:
  GrammarCompiler(Rules& rules, RuleId root, Parameter parameter)
      : rules_(rules), root_(root), parameter_(parameter) {}

  Result<std::shared_ptr<const Grammar>> run();

 private:
  struct Automaton {
    std::optional<Dfa> dfa;  // of rules that are reached from the root and are no repetitions
    bool is_productive = false;
  };

  Result<void> check_size() const;
  tl::unexpected<Error> too_large() const;
  void find_empty_rules();
  bool may_be_empty(RuleId rule) const;
  Result<void> determinise();
  std::vector<RuleId> callees(RuleId rule) const;
  void find_productive_rules();
  bool is_productive(RuleId rule) const;
  bool is_dead(const Dfa::Edge& edge) const;
  Dfa without_dead_edges(const Dfa& dfa) const;
  Result<void> check_left_recursion() const;
  std::vector<RuleId> first_callees(RuleId rule) const;
  std::string name_of(RuleId rule) const;
  void place_states(Grammar& grammar);
  void fill(Grammar& grammar, const Dfa& dfa);
  void add_state(Grammar& grammar, const Dfa& dfa, AutomatonState state, uint32_t base, bool accepts);
  static void find_byte_classes(Grammar& grammar);

  // A rule's own start state accepts nothing, so that edges back to it need another one.
  static bool needs_own_start(const Dfa& dfa) {
    return dfa.accepts[0] != 0 &&
           std::ranges::any_of(dfa.edges, [](const Dfa::Edge& e) { return e.to == 0; });
  }

  Rules& rules_;
  const RuleId root_;
  const Parameter parameter_;
  std::vector<char> is_empty_;  // by rule: one of its texts is
  std::vector<Automaton> automata_;
  std::vector<RuleId> reached_;
};

Result<void> GrammarCompiler::check_size() const {
  if (rules_.n_rules() > kMostRules) {
    return fail(ErrorCode::too_complex, "{}: it needs {} rules, at most {} are taken; make it smaller",
                parameter_, rules_.n_rules(), kMostRules);
  }
  if (rules_.is_too_large() || rules_.budget_.is_spent()) return too_large();
  return {};
}

tl::unexpected<Error> GrammarCompiler::too_large() const {
  return fail(ErrorCode::too_complex,
              "{}: it would take too much time or memory to compile; repeat less, or name fewer alternatives",
              parameter_);
}

bool GrammarCompiler::may_be_empty(RuleId rule) const {
  const Rules::Rule& r = rules_.rules_[rule];
  if (r.is_repeat) return r.least == 0 || is_empty_[r.what];
  return is_empty_[rule];
}

// Whichever rules may be empty, from those that are so by themselves on; calls of these become jumps too.
void GrammarCompiler::find_empty_rules() {
  Nfa& nfa = rules_.nfa_;
  const size_t n_rules = rules_.n_rules();
  is_empty_.assign(n_rules, 0);
  std::vector<std::vector<AutomatonState>> jumps(nfa.n_states);
  for (const Nfa::Jump& jump : nfa.jumps) jumps[jump.from].push_back(jump.to);
  std::vector<std::vector<std::pair<AutomatonState, AutomatonState>>> callers(n_rules);
  for (const Nfa::Edge& edge : nfa.edges) {
    if (Rules::is_call(edge.first)) callers[Rules::rule_of(edge.first)].push_back({edge.from, edge.to});
  }
  std::vector<std::vector<RuleId>> repeats(n_rules), ends(nfa.n_states);
  std::vector<char> is_reached(nfa.n_states, 0);  // without a byte from the start of its rule
  std::vector<AutomatonState> todo;
  const auto reach = [&](AutomatonState state) {
    if (!std::exchange(is_reached[state], 1)) todo.push_back(state);
  };
  std::vector<RuleId> found;
  const auto find = [&](RuleId rule) {
    if (!std::exchange(is_empty_[rule], 1)) found.push_back(rule);
  };
  for (RuleId rule = 0; rule < n_rules; ++rule) {
    const Rules::Rule& r = rules_.rules_[rule];
    if (r.is_repeat) {
      repeats[r.what].push_back(rule);
      if (r.least == 0) find(rule);
    } else {
      ends[r.ends.end].push_back(rule);
      reach(r.ends.start);
    }
  }
  while (!todo.empty() || !found.empty()) {
    if (!todo.empty()) {
      const AutomatonState state = todo.back();
      todo.pop_back();
      for (const RuleId rule : ends[state]) find(rule);
      for (const AutomatonState to : jumps[state]) reach(to);
      continue;
    }
    const RuleId rule = found.back();
    found.pop_back();
    for (const RuleId repeat : repeats[rule]) find(repeat);
    for (const auto& [from, to] : callers[rule]) {
      nfa.jumps.push_back({from, to});
      jumps[from].push_back(to);
      if (is_reached[from]) reach(to);
    }
  }
}

std::vector<RuleId> GrammarCompiler::callees(RuleId rule) const {
  const Rules::Rule& r = rules_.rules_[rule];
  if (r.is_repeat) return {r.what};
  std::vector<RuleId> found;
  for (const Dfa::Edge& edge : automata_[rule].dfa->edges) {
    if (Rules::is_call(edge.first)) found.push_back(Rules::rule_of(edge.first));
  }
  return found;
}

Result<void> GrammarCompiler::determinise() {
  Determiniser determiniser(rules_.nfa_, rules_.budget_);
  automata_.resize(rules_.n_rules());
  std::vector<char> is_reached(rules_.n_rules(), 0);
  reached_ = {root_};
  is_reached[root_] = 1;
  for (size_t i = 0; i < reached_.size(); ++i) {
    const RuleId rule = reached_[i];
    if (const Rules::Rule& r = rules_.rules_[rule]; !r.is_repeat) {
      automata_[rule].dfa = determiniser.make(r.ends.start, r.ends.end);
      if (!automata_[rule].dfa) return too_large();
    }
    for (const RuleId callee : callees(rule)) {
      if (!std::exchange(is_reached[callee], 1)) reached_.push_back(callee);
    }
  }
  return {};
}

// An edge by a call of a rule that has no texts but the empty one.
bool GrammarCompiler::is_dead(const Dfa::Edge& edge) const {
  return Rules::is_call(edge.first) && !automata_[Rules::rule_of(edge.first)].is_productive;
}

// Whether an end is reached by one edge or more.
bool GrammarCompiler::is_productive(RuleId rule) const {
  const Rules::Rule& r = rules_.rules_[rule];
  if (r.is_repeat) return r.most > 0 && automata_[r.what].is_productive;
  const Dfa& dfa = *automata_[rule].dfa;
  std::vector<char> is_seen(dfa.n_states(), 0);
  std::vector<AutomatonState> todo = {0};
  while (!todo.empty()) {
    const AutomatonState state = todo.back();
    todo.pop_back();
    for (const Dfa::Edge& edge : dfa.of(state)) {
      if (is_dead(edge)) continue;
      if (dfa.accepts[edge.to]) return true;
      if (!std::exchange(is_seen[edge.to], 1)) todo.push_back(edge.to);
    }
  }
  return false;
}

void GrammarCompiler::find_productive_rules() {
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (auto i = reached_.rbegin(); i != reached_.rend(); ++i) {
      Automaton& automaton = automata_[*i];
      if (automaton.is_productive || !is_productive(*i)) continue;
      automaton.is_productive = has_changed = true;
    }
  }
}

Dfa GrammarCompiler::without_dead_edges(const Dfa& dfa) const {
  Dfa alive;
  for (AutomatonState state = 0; state < dfa.n_states(); ++state) {
    for (const Dfa::Edge& edge : dfa.of(state)) {
      if (!is_dead(edge)) alive.edges.push_back(edge);
    }
    alive.close_state(dfa.accepts[state] != 0);
  }
  return alive;
}

std::vector<RuleId> GrammarCompiler::first_callees(RuleId rule) const {
  const Rules::Rule& r = rules_.rules_[rule];
  if (r.is_repeat) return {r.what};
  std::vector<RuleId> found;
  for (const Dfa::Edge& edge : automata_[rule].dfa->of(0)) {
    if (Rules::is_call(edge.first)) found.push_back(Rules::rule_of(edge.first));
  }
  return found;
}

std::string GrammarCompiler::name_of(RuleId rule) const {
  const std::string& name = rules_.rules_[rule].name;
  return name.empty() ? "a rule" : name;
}

Result<void> GrammarCompiler::check_left_recursion() const {
  enum : char { kNew, kOpen, kDone };
  std::vector<char> marks(rules_.n_rules(), kNew);
  std::vector<std::pair<RuleId, std::vector<RuleId>>> path;
  const auto open = [&](RuleId rule) {
    marks[rule] = kOpen;
    path.emplace_back(rule, first_callees(rule));
  };
  for (const RuleId rule : reached_) {
    if (marks[rule] == kNew) open(rule);
    while (!path.empty()) {
      auto& [at, callees] = path.back();
      if (callees.empty()) {
        marks[at] = kDone;
        path.pop_back();
        continue;
      }
      const RuleId callee = callees.back();
      callees.pop_back();
      if (marks[callee] == kOpen) {
        return fail(
            ErrorCode::invalid_argument,
            "{}: {} begins with itself, so that it would never come to a text; put something in front "
            "of the repetition",
            parameter_, name_of(callee));
      }
      if (marks[callee] == kNew) open(callee);
    }
  }
  return {};
}

// Numbers for all states: those of automata first, then those of repetitions, which exist as numbers only.
void GrammarCompiler::place_states(Grammar& grammar) {
  grammar.starts_.assign(rules_.n_rules(), Grammar::kNowhere);
  uint32_t n = 0;
  for (const RuleId rule : reached_) {
    if (!automata_[rule].dfa || !automata_[rule].is_productive) continue;
    grammar.starts_[rule] = n;
    n += automata_[rule].dfa->n_states() + needs_own_start(*automata_[rule].dfa);
  }
  for (const RuleId rule : reached_) {
    const Rules::Rule& r = rules_.rules_[rule];
    if (!r.is_repeat || !automata_[rule].is_productive) continue;
    const uint32_t least = may_be_empty(r.what) ? 0 : r.least;
    const uint32_t top = r.most == kNoLimit ? std::max(least, 1u) : r.most;
    grammar.starts_[rule] = n;
    grammar.repeats_.push_back({n, 0, least, r.most, top});
    n += top + 1;
  }
  size_t i = 0;
  for (const RuleId rule : reached_) {
    const Rules::Rule& r = rules_.rules_[rule];
    if (r.is_repeat && automata_[rule].is_productive) grammar.repeats_[i++].start = grammar.starts_[r.what];
  }
}

void GrammarCompiler::add_state(Grammar& grammar, const Dfa& dfa, AutomatonState state, uint32_t base,
                                bool accepts) {
  grammar.states_.push_back({static_cast<uint32_t>(grammar.byte_edges_.size()),
                             static_cast<uint32_t>(grammar.calls_.size()),
                             static_cast<uint32_t>(grammar.token_edges_.size()), accepts});
  for (const Dfa::Edge& edge : dfa.of(state)) {
    const uint32_t to = base + edge.to;
    if (edge.first < Rules::kFirstCall) {
      grammar.byte_edges_.push_back({static_cast<uint8_t>(edge.first), static_cast<uint8_t>(edge.last), to});
    } else if (Rules::is_call(edge.first)) {
      grammar.calls_.push_back({grammar.starts_[Rules::rule_of(edge.first)], to});
    } else {
      grammar.token_edges_.push_back({Rules::terminal_of(edge.first), to});
    }
  }
}

void GrammarCompiler::fill(Grammar& grammar, const Dfa& dfa) {
  auto base = static_cast<uint32_t>(grammar.states_.size());
  if (needs_own_start(dfa)) add_state(grammar, dfa, 0, ++base, false);
  for (AutomatonState state = 0; state < dfa.n_states(); ++state) {
    const bool is_start = state == 0 && !needs_own_start(dfa);
    add_state(grammar, dfa, state, base, dfa.accepts[state] != 0 && !is_start);
  }
}

void GrammarCompiler::find_byte_classes(Grammar& grammar) {
  std::array<bool, 257> begins{};
  for (const Grammar::ByteEdge& edge : grammar.byte_edges_)
    begins[edge.first] = begins[edge.last + 1u] = true;
  uint32_t n = 0;
  for (size_t byte = 0; byte < 256; ++byte) {
    n += byte > 0 && begins[byte];
    grammar.byte_classes_[byte] = static_cast<uint8_t>(n);
  }
  grammar.n_classes_ = n + 1;
}

Result<std::shared_ptr<const Grammar>> GrammarCompiler::run() {
  PARLANCE_CHECK(check_size());
  find_empty_rules();
  PARLANCE_CHECK(check_size());
  PARLANCE_CHECK(determinise());
  PARLANCE_CHECK(check_left_recursion());
  find_productive_rules();
  if (!automata_[root_].is_productive && !may_be_empty(root_)) {
    return fail(ErrorCode::invalid_argument,
                "{}: no text can ever satisfy it; some part of it forbids everything, or never ends",
                parameter_);
  }
  for (const RuleId rule : reached_) {
    std::optional<Dfa>& dfa = automata_[rule].dfa;
    if (!dfa || !automata_[rule].is_productive) continue;
    dfa = minimised(without_dead_edges(*dfa), rules_.budget_);
    if (!dfa) return too_large();
  }
  std::shared_ptr<Grammar> grammar(new Grammar);
  place_states(*grammar);
  for (const RuleId rule : reached_) {
    if (automata_[rule].dfa && automata_[rule].is_productive) fill(*grammar, *automata_[rule].dfa);
  }
  if (grammar->states_.size() > kMostGrammarStates) {
    return fail(ErrorCode::too_complex,
                "{}: it needs {} states, at most {} are taken; repeat less, or name fewer alternatives",
                parameter_, grammar->states_.size(), kMostGrammarStates);
  }
  grammar->states_.push_back({static_cast<uint32_t>(grammar->byte_edges_.size()),
                              static_cast<uint32_t>(grammar->calls_.size()),
                              static_cast<uint32_t>(grammar->token_edges_.size()), false});
  grammar->terminals_ = rules_.terminals_;
  grammar->root_ = root_;
  grammar->root_may_be_empty_ = may_be_empty(root_);
  find_byte_classes(*grammar);
  return grammar;
}

Result<std::shared_ptr<const Grammar>> Rules::compile(RuleId root, Parameter parameter) {
  return GrammarCompiler(*this, root, parameter).run();
}

}  // namespace parlance
