// The form that grammars of every notation are brought into: rules, each an automaton over bytes that may
// call rules (itself too) and name tokens. A front end adds states and edges; compile() makes a Grammar of
// them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/parameter.h"
#include "base/result.h"
#include "grammar/automaton.h"
#include "grammar/code_points.h"
#include "grammar/grammar.h"

namespace parlance {

inline constexpr uint32_t kNoLimit = UINT32_MAX;

// How the code points of a text are written.
enum class Encoding : uint8_t {
  utf8,
  json_string,  // between quotation marks: raw UTF-8, or any escape that JSON has for it
};

class Rules {
 public:
  struct Ends {
    AutomatonState start, end;
  };

  // A rule's texts are those on the ways from its start to its end. The name is for messages.
  RuleId add_rule(std::string name = {});
  Ends of(RuleId rule) const { return rules_[rule].ends; }
  // A rule whose texts are `least` to `most` (or kNoLimit) texts of another one in a row.
  RuleId add_repeat(RuleId what, uint32_t least, uint32_t most);

  AutomatonState add_state() { return nfa_.n_states++; }
  void jump(AutomatonState from, AutomatonState to) { nfa_.jumps.push_back({from, to}); }
  void byte_range(AutomatonState from, uint8_t first, uint8_t last, AutomatonState to) {
    nfa_.edges.push_back({from, to, first, last});
  }
  void text(AutomatonState from, std::string_view bytes, AutomatonState to);
  // One code point of the set.
  void code_points(AutomatonState from, const CodePointSet& set, Encoding encoding, AutomatonState to);
  // A text that the automaton over code points accepts.
  void texts_of(const Dfa& code_points, AutomatonState from, Encoding encoding, AutomatonState to);
  void call(AutomatonState from, RuleId rule, AutomatonState to);
  void token(AutomatonState from, const TokenTerminal& terminal, AutomatonState to);

  CompileBudget& budget() { return budget_; }
  size_t n_rules() const { return rules_.size(); }
  // More than any grammar within the bounds needs; adding more is of no use.
  bool is_too_large() const { return nfa_.edges.size() + nfa_.jumps.size() > kMostEdges; }

  // The grammar of a rule. Errors name the parameter that the text came by: too_complex, when a bound is met;
  // invalid_argument, when a rule calls itself before any byte or the rule has no texts.
  Result<std::shared_ptr<const Grammar>> compile(RuleId root, Parameter parameter);

 private:
  static constexpr size_t kMostEdges = 400'000;
  friend class GrammarCompiler;
  // Symbols above bytes: even ones alone, so that no two are neighbours and would become one range.
  static constexpr Symbol kFirstCall = 0x200, kFirstToken = 0x4000'0000;
  static bool is_call(Symbol symbol) { return symbol >= kFirstCall && symbol < kFirstToken; }
  static Symbol symbol_of(RuleId rule) { return kFirstCall + 2 * rule; }
  static RuleId rule_of(Symbol symbol) { return (symbol - kFirstCall) / 2; }
  static Symbol symbol_of_terminal(uint32_t index) { return kFirstToken + 2 * index; }
  static uint32_t terminal_of(Symbol symbol) { return (symbol - kFirstToken) / 2; }
  struct Rule {
    std::string name = {};
    Ends ends = {0, 0};
    bool is_repeat = false;
    RuleId what = 0;  // of a repeat
    uint32_t least = 0, most = 0;
  };
  void code_points_by_call(AutomatonState from, const CodePointSet& set, Encoding encoding,
                           AutomatonState to);

  Nfa nfa_;
  std::vector<Rule> rules_;
  std::vector<TokenTerminal> terminals_;
  std::map<std::pair<Encoding, CodePointSet>, RuleId> rules_of_sets_;
  CompileBudget budget_;
};

}  // namespace parlance
