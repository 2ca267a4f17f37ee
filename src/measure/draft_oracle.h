// A drafter that knows what will be said: what drafting can bring at most, on this device, with all that is
// done for real drafts.
#pragma once

#include <memory>
#include <vector>

#include "engine/drafter.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

class DraftOracle {
 public:
  // Texts that begin like this one will go on like it: a prompt, and the answer without drafts. Not while one
  // is written.
  void expect(std::vector<Token> text);

  // What asks `drafter` first, which takes the time that it takes, and proposes as many tokens as this does:
  // those that will be said. Null: nothing is asked, and as many are proposed as are wished for. The oracle
  // must outlive it.
  std::unique_ptr<Drafter> in_place_of(std::unique_ptr<Drafter> drafter) const;

 private:
  class Proposer;
  std::vector<Token> text_;
};

}  // namespace parlance
