#include "measure/step_cost.h"

#include <algorithm>

#include "models/tensor_names.h"

namespace parlance {

namespace {

StepCost times(StepCost cost, double n) {
  return {.bytes = cost.bytes * n,
          .int8_ops = cost.int8_ops * n,
          .bf16_ops = cost.bf16_ops * n,
          .f16_ops = cost.f16_ops * n,
          .f32_ops = cost.f32_ops * n};
}

double seconds(double amount, double rate) {
  return rate > 0 ? amount / rate : 0;
}

}  // namespace

StepCost product_cost(const GgufTensor& tensor, double n_columns) {
  double ops = 2 * n_columns;
  for (const int64_t n : tensor.ne) ops *= static_cast<double>(n);
  StepCost cost;
  if (tensor.dtype == DType::bf16) {
    cost.bf16_ops = ops;
  } else if (tensor.dtype == DType::f16) {
    cost.f16_ops = ops;
  } else if (traits(tensor.dtype).block_elements > 1) {
    cost.int8_ops = ops;
  } else {
    cost.f32_ops = ops;
  }
  return cost;
}

StepCost& StepCost::operator+=(const StepCost& other) {
  bytes += other.bytes;
  int8_ops += other.int8_ops;
  bf16_ops += other.bf16_ops;
  f16_ops += other.f16_ops;
  f32_ops += other.f32_ops;
  return *this;
}

double seconds_for_bytes(const StepCost& cost, const Roofline& roofline) {
  return seconds(cost.bytes, roofline.read_bytes_per_second);
}

double seconds_for_ops(const StepCost& cost, const Roofline& roofline) {
  const auto or_f32 = [&](double rate) { return rate > 0 ? rate : roofline.f32_ops_per_second; };
  return seconds(cost.int8_ops, roofline.int8_ops_per_second) +
         seconds(cost.f32_ops, roofline.f32_ops_per_second) +
         seconds(cost.bf16_ops, or_f32(roofline.bf16_ops_per_second)) +
         seconds(cost.f16_ops, or_f32(roofline.int16_ops_per_second));
}

double bound_seconds(const StepCost& cost, const Roofline& roofline) {
  return std::max(seconds_for_bytes(cost, roofline), seconds_for_ops(cost, roofline));
}

CostModel::CostModel(const TextModel& text, size_t kv_bytes_per_token, size_t state_bytes)
    : hp_(text.hyper_parameters()),
      kv_bytes_per_token_(static_cast<double>(kv_bytes_per_token)),
      state_bytes_(static_cast<double>(state_bytes)) {
  const bool is_tied = text.file().find_tensor("output.weight") == nullptr;
  for (const GgufTensor& tensor : text.file().tensors()) {
    if (layer_of(tensor.name) >= hp_.n_layer) continue;  // predicts further tokens, in no step
    const bool is_embedding = tensor.name == "token_embd.weight";
    const bool is_output = tensor.name == "output.weight" || (is_embedding && is_tied);
    if (is_embedding) embedding_row_bytes_ = static_cast<double>(row_bytes(tensor.dtype, tensor.ne[0]));
    if (is_embedding && !is_tied) continue;  // only rows of it are read
    weight_bytes_ += static_cast<double>(tensor.bytes.size());
    if (tensor.n_dims == 2) (is_output ? per_output_ : per_token_) += product_cost(tensor, 1);
  }
}

StepCost CostModel::step(int64_t n_tokens, int64_t n_before, int64_t n_outputs) const {
  const auto n = static_cast<double>(n_tokens);
  const auto before = static_cast<double>(n_before);
  StepCost cost = times(per_token_, n);
  cost += times(per_output_, static_cast<double>(n_outputs));
  cost.bytes +=
      weight_bytes_ + n * embedding_row_bytes_ + (before + n) * kv_bytes_per_token_ + 2 * state_bytes_;
  // Token i of the step looks at before + i + 1 positions, in every head of every attention layer.
  const double n_looks = n * before + n * (n + 1) / 2;
  const auto per_look = static_cast<double>(hp_.n_layers_of(LayerKind::attention) * hp_.n_head *
                                            (hp_.head_dim_k + hp_.head_dim_v));
  cost.f32_ops += 2 * n_looks * per_look;
  // Each token reads every number of its states twice and corrects it once.
  const DeltaNetParameters& net = hp_.delta_net;
  const auto per_state = static_cast<double>(3 * net.head_dim * net.n_inner() + net.n_tap * net.n_channel());
  cost.f32_ops += 2 * n * per_state * static_cast<double>(hp_.n_layers_of(LayerKind::delta_net));
  return cost;
}

StepCost CostModel::step_of_many(int64_t n_sequences, int64_t n_before) const {
  StepCost cost = times(step(1, n_before), static_cast<double>(n_sequences));
  cost.bytes -= static_cast<double>(n_sequences - 1) * weight_bytes_;  // which are read once
  return cost;
}

}  // namespace parlance
