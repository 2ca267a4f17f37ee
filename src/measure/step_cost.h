// What a step of a model must do at least: the bytes that have to come from memory and the arithmetic, to be
// held against a roofline.
#pragma once

#include <cstdint>

#include "engine/text_model.h"
#include "kernels/cpu/roofline.h"

namespace parlance {

struct StepCost {
  // Weights once, keys and values of earlier tokens once, those of the step written; recurrent states read
  // and written.
  double bytes = 0;
  double int8_ops = 0;  // products with quantised weights
  double bf16_ops = 0;  // with bf16 weights
  double f16_ops = 0;   // with f16 weights
  double f32_ops = 0;   // with other weights, attention, and recurrent states

  double ops() const { return int8_ops + bf16_ops + f16_ops + f32_ops; }
  StepCost& operator+=(const StepCost& other);
};

// Operations of a product of the tensor, as a matrix or filters, with n_columns columns, in the kind of
// arithmetic that its kernels use; without bytes.
StepCost product_cost(const GgufTensor& tensor, double n_columns);

// Time that the cost takes at the rates of the roofline, bytes and arithmetic apart.
double seconds_for_bytes(const StepCost& cost, const Roofline& roofline);
double seconds_for_ops(const StepCost& cost, const Roofline& roofline);
// The longer of both.
double bound_seconds(const StepCost& cost, const Roofline& roofline);

class CostModel {
 public:
  CostModel(const TextModel& text, size_t kv_bytes_per_token, size_t state_bytes);

  // n_tokens that go through the model together after n_before others, with the logits of the last n_outputs.
  StepCost step(int64_t n_tokens, int64_t n_before, int64_t n_outputs = 1) const;
  // The same for one token of each of n_sequences, which have n_before tokens each.
  StepCost step_of_many(int64_t n_sequences, int64_t n_before) const;

 private:
  HyperParameters hp_;
  double kv_bytes_per_token_;
  double state_bytes_;
  double weight_bytes_ = 0;
  double embedding_row_bytes_ = 0;
  StepCost per_token_;   // arithmetic of the layers' matrices
  StepCost per_output_;  // of the output matrix
};

}  // namespace parlance
