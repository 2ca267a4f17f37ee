// The rows of a llama_batch, checked and sorted by sequence.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "capi/llama/abi.h"

namespace parlance::capi {

// The rows of one sequence, at consecutive positions.
struct BatchPart {
  struct Row {
    int32_t index;   // in the batch
    bool is_wanted;  // its outputs, which are given once where a row is of several sequences
  };

  llama_seq_id seq = 0;
  llama_pos first = 0;
  std::vector<Row> rows;
  std::vector<llama_token> tokens;  // of the rows
  std::vector<float> embeddings;    // in their place

  // Rows from the first that is wanted on.
  int64_t n_outputs() const;
};

struct BatchRules {
  int32_t n_batch = 0;  // most rows
  int32_t n_vocab = 0;
  int64_t n_embd = 0;
  llama_seq_id n_seq = 0;
  bool wants_all = false;  // rows, where the batch does not say
};

// Errors: invalid_argument for what makes no sense. `next` is where a sequence goes on, or whatever it begins
// with where it is empty (below 0).
Result<std::vector<BatchPart>> read_batch(const llama_batch& batch, const BatchRules& rules,
                                          const std::vector<llama_pos>& next);

}  // namespace parlance::capi
