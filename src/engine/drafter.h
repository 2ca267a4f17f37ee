// What proposes tokens that may follow a text, for the model to verify several of them in one step.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

class Sequence;

// Of one sequence, whose last token is not computed yet.
struct DraftJob {
  Sequence* sequence = nullptr;
  int64_t most = 0;  // tokens that are worth proposing
  float least_probability =
      0;  // that the drafter must give a token; what follows a worse one is not proposed
  Cancellation cancellation = {};
  std::vector<Token> tokens = {};  // the proposal; empty: none
};

class Drafter {
 public:
  virtual ~Drafter() = default;

  virtual std::string_view name() const = 0;
  // Whether a proposal costs computing time, which is then measured.
  virtual bool computes() const { return true; }
  // Fills the jobs' tokens, in one go where that is cheaper. Where it has nothing to say, or no memory to say
  // it in, or all jobs were cancelled, tokens stay empty. Errors: the device failed.
  virtual Result<void> draft(std::span<DraftJob* const> jobs) = 0;
};

}  // namespace parlance
