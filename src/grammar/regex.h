// Regular expressions as automata over code points.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/automaton.h"

namespace parlance {

enum class RegexMatch : uint8_t {
  whole,     // the expression is all of a text; anchors at its ends say nothing more
  anywhere,  // it is somewhere in a text, as JSON Schema's "pattern" has it, unless anchors say where
};

// The texts that an expression matches. What it may be written with is in docs/structured-output.md. `where`
// begins the messages of errors: invalid_argument, it is no regular expression; unsupported, it asks for what
// no automaton can do (looking around, references back) or what there is no code for; too_complex.
Result<Dfa> parse_regex(std::string_view text, RegexMatch match, const std::string& where,
                        CompileBudget& budget);

}  // namespace parlance
