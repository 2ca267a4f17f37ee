// A grammar that is ready to be followed: for every rule a small deterministic automaton over bytes, which
// may call other rules. It knows nothing of vocabularies.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace parlance {

using RuleId = uint32_t;

// Bounds of what a text may ask for. Beyond: the error too_complex.
inline constexpr size_t kMostGrammarBytes = size_t{64} << 10;  // of a schema or of GBNF
inline constexpr size_t kMostRegexBytes = size_t{4} << 10;
inline constexpr size_t kMostNesting = 64;               // of groups, and of schemas
inline constexpr uint32_t kMostRepeats = 10'000;         // m and n of {m,n}
inline constexpr uint64_t kMostNestedRepeats = 100'000;  // their product, where repetitions are nested
inline constexpr size_t kMostRules = 4'000;
inline constexpr size_t kMostGrammarStates = 20'000;
inline constexpr size_t kMostProperties = 1'000;  // of an object
inline constexpr size_t kMostEnumValues = 1'000;
inline constexpr size_t kMostBranches = 64;  // of anyOf, oneOf and allOf

// A token of the vocabulary as a terminal: <think>, <[1000]>, !<think>.
struct TokenTerminal {
  std::string text;  // as the vocabulary stores it; empty: by id
  int32_t id = -1;
  bool is_negated = false;  // any token but that one
  bool operator==(const TokenTerminal&) const = default;
};

class Grammar {
 public:
  // GBNF, the grammar format of llama.cpp; the rule named root is where texts begin.
  static Result<std::shared_ptr<const Grammar>> from_gbnf(std::string_view text);
  // A regular expression of the subset of ECMAScript that docs/structured-output.md names. It matches whole
  // texts.
  static Result<std::shared_ptr<const Grammar>> from_regex(std::string_view text);
  // A JSON schema (draft 2020-12) of the subset there. Errors hold the parameter's mark with a JSON pointer
  // as its value.
  static Result<std::shared_ptr<const Grammar>> from_json_schema(std::string_view text);
  // Errors of all three: invalid_argument, what the text says makes no sense; unsupported, it asks for what
  // there is no code for; too_complex, it would take more time or memory than it may.

  // States are numbers. Those of rules that repeat another one exist only as numbers.
  using State = uint32_t;
  struct ByteEdge {
    uint8_t first, last;
    State to;
  };
  struct Call {
    State start;  // of the rule
    State back;   // where its end leads
  };
  struct TokenEdge {
    uint32_t terminal;
    State to;
  };

  State root() const { return starts_[root_]; }
  bool root_may_be_empty() const { return root_may_be_empty_; }
  // Whether a rule's text may end here.
  bool accepts(State state) const;
  // The rule's text ends here, nothing may follow.
  bool is_last(State state) const;
  // From the state by a byte; kNowhere when there is no such edge.
  static constexpr State kNowhere = UINT32_MAX;
  State step(State state, uint8_t byte) const;
  bool has_edges(State state) const {  // over bytes or tokens
    return is_real(state) && (!byte_edges(state).empty() || !token_edges(state).empty());
  }
  std::span<const TokenEdge> token_edges(State state) const;
  // Rules that may begin here: calls visit(call) for each.
  template <class Visit>
  void for_each_call(State state, Visit visit) const {
    if (!is_real(state)) {
      if (const Call call = call_of_repeat(state); call.start != kNowhere) visit(call);
      return;
    }
    for (const Call& call : calls(state)) visit(call);
  }
  // A state that cannot be told from this one by fewer than `n_bytes` bytes: where a repetition is far from
  // its bounds, how often it has been is of no account.
  State representative(State state, uint32_t n_bytes) const;

  // Bytes that no state tells apart have one number.
  uint8_t class_of(uint8_t byte) const { return byte_classes_[byte]; }
  uint32_t n_classes() const { return n_classes_; }
  const std::vector<TokenTerminal>& terminals() const { return terminals_; }
  size_t n_states() const { return states_.size(); }
  size_t bytes() const;

 private:
  friend class GrammarCompiler;
  Grammar() = default;

  struct RealState {
    uint32_t byte_edges = 0, calls = 0, token_edges = 0;  // where its own begin; they end where the next's do
    bool accepts = false;
  };
  struct Repeat {
    State base;            // the state after k repetitions is base + k
    State start;           // of what is repeated
    uint32_t least, most;  // most may be kNoLimit
    uint32_t top;          // the largest k that is told apart
  };

  bool is_real(State state) const { return state < states_.size() - 1; }
  std::span<const ByteEdge> byte_edges(State state) const;
  std::span<const Call> calls(State state) const;
  const Repeat& repeat_of(State state) const;
  Call call_of_repeat(State state) const;

  std::vector<RealState> states_;  // and one more, for the ends of the last
  std::vector<ByteEdge> byte_edges_;
  std::vector<Call> calls_;
  std::vector<TokenEdge> token_edges_;
  std::vector<Repeat> repeats_;  // by base
  std::vector<State> starts_;    // by rule
  std::vector<TokenTerminal> terminals_;
  std::array<uint8_t, 256> byte_classes_{};
  uint32_t n_classes_ = 1;
  RuleId root_ = 0;
  bool root_may_be_empty_ = false;
};

}  // namespace parlance
