// Where the last tokens of a text stood in it before (prompt lookup; Saxena, 2023), found without reading the
// text again: each place knows the place before it that ends in the same four tokens, the same two, the same
// one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace parlance {

class LookupIndex {
 public:
  // Takes in a text. Cheap where it goes on from the one before.
  void follow(std::span<const Token> text);

  struct Found {
    std::vector<Token> tokens;  // that followed the place, `most` at most; empty: there is none
    int64_t n_matched = 0;      // tokens before it that are the text's last ones
    double agreement = 0;       // of the places that match as far: the share that go on with the same token
  };
  // The place that matches farthest; of several the one that goes on as most of them do, the latest of these.
  Found find(int64_t most) const;

 private:
  static constexpr std::array<size_t, 3> kLengths = {1, 2, 4};  // of what places end in
  static constexpr int32_t kNowhere = -1;
  struct Chains {
    std::vector<int32_t> heads;   // by hash: the last place, which others with another hash may share
    std::vector<int32_t> before;  // by place: the one before it
  };
  struct Places {
    std::array<int32_t, 64> at;  // the latest first
    size_t n = 0;
    int64_t n_matched = 0;
  };
  size_t hash_at(size_t order, size_t place) const;
  void add(size_t place);
  void rebuild();
  Places farthest(size_t order) const;
  int64_t matched_before(size_t place) const;

  std::vector<Token> text_;
  std::array<Chains, kLengths.size()> chains_;  // of all places but the end
};

}  // namespace parlance
