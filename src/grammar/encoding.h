// How code points become bytes, as edges of automata.
#pragma once

#include "grammar/rules.h"

namespace parlance {

// One code point of the set in UTF-8.
void add_utf8(Rules& rules, AutomatonState from, const CodePointSet& set, AutomatonState to);
// One code point of the set inside a JSON string: raw where JSON allows that, or escaped (RFC 8259, section
// 7), those above U+FFFF as a pair of surrogates.
void add_json_characters(Rules& rules, AutomatonState from, const CodePointSet& set, AutomatonState to);

}  // namespace parlance
