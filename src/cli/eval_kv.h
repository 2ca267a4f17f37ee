// parlance eval kv: what each way of keeping keys and values costs in quality, beside what it saves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/eval_set.h"
#include "cli/terminal/console.h"
#include "engine/context.h"
#include "kv/policy.h"

namespace parlance {

// A way of keeping keys and values, by the options that ask for it.
struct CacheCase {
  std::string options;
  KvPolicy policy;
};

// Formats alone and mixed, encoders, windows and presets, as far as they fit the model's heads.
std::vector<CacheCase> cache_cases(const KvLayout& layout);

// Of one case against f16, over the last positions of every question and its right answer.
struct CacheQuality {
  std::string options;
  double bits_per_value = 0;
  size_t bytes_per_token = 0;
  double perplexity_ratio = 0;  // of the right answers
  double kl_mean = 0;           // nats from the distribution with f16
  double kl_p99 = 0;
  double top1 = 0;                        // share of positions with the same likeliest token
  std::map<std::string, double> n_right;  // share of right replies by category
};

// Every case with a context of its own; the first result is f16. Errors: questions that do not fit the
// context.
Result<std::vector<CacheQuality>> measure_cache_quality(const Console& io, const TextModel& model,
                                                        const SessionOptions& options,
                                                        const std::vector<EvalQuestion>& questions,
                                                        const std::vector<CacheCase>& cases);

}  // namespace parlance
