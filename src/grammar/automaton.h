// Finite automata over symbols, which are numbers: bytes, code points, or what grammar/rules.h makes of calls
// and tokens. Labels are ranges of symbols, so that a class of characters is a few edges.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace parlance {

using Symbol = uint32_t;
using AutomatonState = uint32_t;

// Work and states that may be spent on compiling, so that a small text cannot ask for hours. One unit is
// about ten nanoseconds.
struct CompileBudget {
  int64_t work = 12'000'000;
  int64_t states = 100'000;

  bool spend(int64_t amount) { return (work -= amount) >= 0; }
  bool is_spent() const { return work < 0 || states < 0; }
};

struct Nfa {
  struct Edge {
    AutomatonState from, to;
    Symbol first, last;
  };
  struct Jump {  // without a symbol
    AutomatonState from, to;
  };
  AutomatonState n_states = 0;
  std::vector<Edge> edges;
  std::vector<Jump> jumps;
};

// Deterministic and partial: a symbol without an edge leads nowhere. State 0 is the start.
struct Dfa {
  struct Edge {
    Symbol first, last;
    AutomatonState to;
  };
  std::vector<uint32_t> begins = {0};  // edges of state i are edges[begins[i]] to edges[begins[i + 1]]
  std::vector<Edge> edges;             // of one state: ascending, disjoint
  std::vector<char> accepts;           // by state

  AutomatonState n_states() const { return static_cast<AutomatonState>(accepts.size()); }
  std::span<const Edge> of(AutomatonState state) const {
    return std::span(edges).subspan(begins[state], begins[state + 1] - begins[state]);
  }
  // For building state after state: edges were added, the state is complete.
  void close_state(bool accepting) {
    begins.push_back(static_cast<uint32_t>(edges.size()));
    accepts.push_back(accepting);
  }
};

// Makes deterministic automata of parts of one that is not.
class Determiniser {
 public:
  // Both outlive this.
  Determiniser(const Nfa& nfa, CompileBudget& budget);

  // The texts that lead from one state to the other. None when the budget is spent.
  std::optional<Dfa> make(AutomatonState start, AutomatonState end);

 private:
  struct Step {
    Symbol first, last;
    AutomatonState to;
  };
  void close(std::vector<AutomatonState>& set);
  std::vector<Step> steps_of(std::span<const AutomatonState> set) const;

  const Nfa& nfa_;
  CompileBudget& budget_;
  std::vector<uint32_t> edge_begins_, jump_begins_;  // by state
  std::vector<uint32_t> edge_order_, jump_order_;
  std::vector<uint32_t> seen_;  // by state: in which call of close()
  uint32_t n_closed_ = 0;
  AutomatonState end_ = 0;
};

// The automaton of the texts that both accept. None when the budget is spent.
std::optional<Dfa> intersection(const Dfa& a, const Dfa& b, CompileBudget& budget);

// The smallest automaton of the same texts; states from which no end is reached are gone. One without texts
// has a single state without edges. None when the budget is spent.
std::optional<Dfa> minimised(const Dfa& dfa, CompileBudget& budget);

}  // namespace parlance
