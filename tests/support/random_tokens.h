// A text of random tokens, the same for the same seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace parlance::test {

// [n] of the first 250, which every model of the tests has.
inline std::vector<Token> random_tokens(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Token> tokens(static_cast<size_t>(n));
  for (Token& token : tokens) token = static_cast<Token>(random() % 250);
  return tokens;
}

}  // namespace parlance::test
