// What proposes tokens that may follow a text, for the model to verify several of them in one step.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/cancellation.h"
#include "base/result.h"
#include "sampling/draft_sampler.h"

namespace parlance {

class Sequence;

// Of one sequence, whose last token is not computed yet.
struct DraftJob {
  Sequence* sequence = nullptr;
  int64_t most = 0;  // tokens that are worth proposing, or reading
  int64_t n_choices =
      1;  // in each place, if the drafter has them: what is behind the first goes to Draft::others
  float least_probability =
      0;  // that the drafter must give a token; what follows a worse one is not proposed
  Cancellation cancellation = {};
  DraftSampler* sampler = nullptr;  // what makes tokens of logits; has begun this draft
  Draft draft = {};                 // the proposal; may be empty
};

class Drafter {
 public:
  virtual ~Drafter() = default;

  virtual std::string_view name() const = 0;
  // Whether a proposal costs computing time, which is then measured.
  virtual bool computes() const { return true; }
  // Whether each token takes a pass of its own; else all of a draft are made in one.
  virtual bool writes_token_by_token() const { return false; }
  // Texts of which drafts will be wanted, and of which the model reads some tokens in its next step: time to
  // read as many.
  virtual Result<void> read(std::span<DraftJob* const> /*jobs*/) { return {}; }
  // Fills the jobs' drafts, in one go where that is cheaper. Where it has nothing to say, or no memory to say
  // it in, or all jobs were cancelled, they stay empty. Errors: the device failed.
  virtual Result<void> draft(std::span<DraftJob* const> jobs) = 0;
};

}  // namespace parlance
