// Whether a model says the same on two devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/generate.h"
#include "engine/session.h"
#include "eval/questions.h"
#include "eval/watch.h"

namespace parlance {

// A reply that is not the same on both devices.
struct Difference {
  const EvalQuestion* question;
  int64_t position;   // of the first token that differs, in the reply
  float margin;       // by which the logits of the reference prefer its own token there
  std::string reply;  // of the tested device
  std::string reference;
};

// Differences of at most this are what sums in another order may decide.
inline constexpr float kCloseCall = 1e-3f;

struct DeviceComparison {
  int64_t n_questions = 0;
  int64_t n_tokens = 0;  // of the reference's replies
  std::vector<Difference> differences;

  bool is_explained() const;  // every difference is a close call
};

// Puts every question to both sessions, which hold the same model, greedily.
Result<DeviceComparison> compare_replies(const std::vector<EvalQuestion>& questions,
                                         const GenerateOptions& options, Session& tested, Session& reference,
                                         const EvalWatch& watch);

}  // namespace parlance
