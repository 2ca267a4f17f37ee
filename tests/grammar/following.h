// Following a grammar through texts, for tests.
#pragma once

#include <memory>
#include <string_view>

#include "grammar/grammar.h"
#include "grammar/recogniser.h"

namespace parlance::test {

// Whether every byte of the text is allowed where it comes, and the end behind the last.
inline bool follows(Recogniser& recogniser, std::string_view text) {
  RecogniserState state = recogniser.begin();
  for (const char byte : text) {
    state = recogniser.step(state, static_cast<uint8_t>(byte));
    if (state == Recogniser::kDead) return false;
  }
  return recogniser.may_end(state);
}

inline bool follows(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Recogniser recogniser(grammar);
  return follows(recogniser, text);
}

}  // namespace parlance::test
