// Rules as they are written: sequences, choices and repetitions, before they become automata.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/parameter.h"
#include "base/result.h"
#include "grammar/rules.h"

namespace parlance {

class Expressions {
 public:
  using Id = uint32_t;

  Id text(std::string bytes);
  Id one_of(CodePointSet set);
  Id token(TokenTerminal terminal);
  Id rule(size_t number);  // of those that compile() is given
  Id sequence(std::vector<Id> parts);
  Id choice(std::vector<Id> branches);  // not empty
  // Error: too_complex, a count or the nesting is beyond its bound.
  Result<Id> repeat(Id what, uint32_t least, uint32_t most, Parameter parameter);

  // The grammar of rules with these names and bodies. Errors: as of Rules::compile().
  Result<std::shared_ptr<const Grammar>> compile(const std::vector<std::pair<std::string, Id>>& bodies,
                                                 size_t root, Parameter parameter) const;

 private:
  enum class Kind : uint8_t { text, one_of, token, rule, sequence, choice, repeat };
  struct Node {
    Kind kind;
    std::string bytes = {};
    CodePointSet set = {};
    TokenTerminal terminal = {};
    std::vector<Id> parts = {};
    uint32_t number = 0;           // of a rule
    uint32_t least = 0, most = 0;  // of a repetition
    // Of it and what is in it: states, roughly, if everything is written out; the product of nested
    // repetitions; how deeply repetitions are nested.
    uint64_t size = 1;
    uint64_t repeats = 1;
    uint32_t depth = 0;
  };
  Id add(Node node);
  void emit(Id id, AutomatonState from, AutomatonState to, Rules& rules) const;
  void emit_repeat(const Node& node, AutomatonState from, AutomatonState to, Rules& rules) const;

  std::vector<Node> nodes_;
};

}  // namespace parlance
