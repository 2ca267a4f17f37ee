// parlance bench serve: how many the server answers at once, in text and aloud.
#pragma once

#include <cstdint>
#include <vector>

#include "assistant/choice.h"
#include "base/result.h"
#include "cli/terminal/console.h"
#include "engine/generate.h"

namespace parlance {

struct ServeBench {
  Choice models;
  GenerateOptions defaults;                        // of answers
  std::vector<int64_t> n_clients = {1, 4, 16};     // that write at once
  std::vector<int64_t> n_sessions = {1, 2, 4, 8};  // that talk at once; 0: none
  int64_t n_prompt = 128, n_answer = 64;           // tokens
  std::vector<int64_t> n_threads = {0};            // one run each
  int n_repetitions = 3;                           // answers of each client, and turns of each who talks
  bool wants_json = false;
};

Result<int> bench_serve(const Console& io, const ServeBench& options);

}  // namespace parlance
