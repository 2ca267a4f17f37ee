// What is promised of a grammar, whatever text it was made of.
#pragma once

#include <memory>
#include <random>

#include "allocations.h"
#include "grammar/recogniser.h"

namespace parlance::fuzz {

// Follows a few ways through the grammar, each by bytes that may come; every place has a way on or is an end,
// unless rules call each other too deeply.
inline void follow_some(const std::shared_ptr<const Grammar>& grammar) {
  std::minstd_rand random(7);
  Recogniser recogniser(grammar);
  for (int walk = 0; walk < 4; ++walk) {
    RecogniserState state = recogniser.begin();
    for (int step = 0; step < 40; ++step) {
      const auto first = static_cast<unsigned>(random() % 256);
      RecogniserState next = Recogniser::kDead;
      for (unsigned i = 0; i < 256 && next == Recogniser::kDead; ++i)
        next = recogniser.step(state, static_cast<uint8_t>((first + i) % 256));
      if (next == Recogniser::kDead) {
        require(recogniser.may_end(state) || recogniser.gave_up() || !grammar->terminals().empty(),
                "a text that cannot go on may end");
        break;
      }
      state = next;
    }
  }
}

}  // namespace parlance::fuzz
