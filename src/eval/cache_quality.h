// What each way of keeping keys and values costs in quality, beside what it saves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/context.h"
#include "eval/questions.h"
#include "eval/watch.h"
#include "kv/policy.h"

namespace parlance {

// A way of keeping keys and values, and what it is called in the result.
struct CacheCase {
  std::string name;
  KvPolicy policy;
};

// Of one case against the first, over the last positions of every question and its right answer.
struct CacheQuality {
  std::string name;
  double bits_per_value = 0;
  size_t bytes_per_token = 0;
  double perplexity_ratio = 0;  // of the right answers
  double kl_mean = 0;           // nats from the first case's distribution
  double kl_p99 = 0;
  double top1 = 0;                        // share of positions with the same likeliest token
  std::map<std::string, double> n_right;  // share of right replies by category
};

// Text that the model is shown.
struct CacheReading {
  std::vector<EvalQuestion> questions;  // each is asked, too
  std::string text;  // any; read in pieces of a thousand tokens, whose last ones are compared
};

// Every case with a context of its own, compared with the first. Errors: questions that do not fit the
// context, nothing to read.
Result<std::vector<CacheQuality>> measure_cache_quality(const TextModel& model, const SessionOptions& options,
                                                        const CacheReading& reading,
                                                        const std::vector<CacheCase>& cases,
                                                        const EvalWatch& watch);

}  // namespace parlance
