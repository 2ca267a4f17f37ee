// Random weights of every type, for tests of what multiplies them.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "kernels/support/op_bench.h"
#include "quant/block_format.h"
#include "quant/iq4_nl.h"
#include "quant/iq4_xs.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"
#include "support/random_numbers.h"
#include "tensor/tensor.h"

namespace parlance::test {

// Block types have every code and every small step; only their half floats must be set to sensible numbers.
struct WeightType {
  DType dtype;
  std::vector<size_t> halves;  // where half floats lie in a block
  std::vector<size_t>
      negatives;  // of these, where the weight's sign may be negative (steps of K-quants are not)
};

inline const std::vector<WeightType>& quantised_types() {
  static const std::vector<WeightType> types = {
      {DType::q8_0, {offsetof(BlockQ8_0, d)}, {offsetof(BlockQ8_0, d)}},
      {DType::q4_0, {offsetof(BlockQ4_0, d)}, {offsetof(BlockQ4_0, d)}},
      {DType::q4_1, {offsetof(BlockQ4_1, d), offsetof(BlockQ4_1, m)}, {offsetof(BlockQ4_1, m)}},
      {DType::q5_0, {offsetof(BlockQ5_0, d)}, {offsetof(BlockQ5_0, d)}},
      {DType::q5_1, {offsetof(BlockQ5_1, d), offsetof(BlockQ5_1, m)}, {offsetof(BlockQ5_1, m)}},
      {DType::q2_k, {offsetof(BlockQ2K, d), offsetof(BlockQ2K, dmin)}, {}},
      {DType::q3_k, {offsetof(BlockQ3K, d)}, {offsetof(BlockQ3K, d)}},
      {DType::q4_k, {offsetof(BlockQ4K, d), offsetof(BlockQ4K, dmin)}, {}},
      {DType::q5_k, {offsetof(BlockQ5K, d), offsetof(BlockQ5K, dmin)}, {}},
      {DType::q6_k, {offsetof(BlockQ6K, d)}, {offsetof(BlockQ6K, d)}},
      {DType::iq4_nl, {offsetof(BlockIq4Nl, d)}, {offsetof(BlockIq4Nl, d)}},
      {DType::iq4_xs, {offsetof(BlockIq4Xs, d)}, {offsetof(BlockIq4Xs, d)}},
  };
  return types;
}

inline const std::vector<WeightType>& float_types() {
  static const std::vector<WeightType> types = {
      {DType::f32, {}, {}}, {DType::f16, {}, {}}, {DType::bf16, {}, {}}};
  return types;
}

inline bool is_float(DType dtype) {
  return traits(dtype).block_elements == 1;
}

// A tensor that owns exactly its bytes, at an odd address as in a file.
struct OwnedTensor {
  std::vector<std::byte> bytes;
  Tensor tensor;

  OwnedTensor(DType dtype, int64_t n0, int64_t n1) {
    tensor.dtype = dtype;
    tensor.ne = {n0, n1, 1, 1};
    bytes.resize(tensor.size() + 2);
    tensor.data = bytes.data() + (is_float(dtype) ? 0 : 2);
    bytes.resize(tensor.size() + static_cast<size_t>(tensor.data - bytes.data()));
  }
  OwnedTensor(const OwnedTensor&) = delete;
  OwnedTensor& operator=(const OwnedTensor&) = delete;
};

using Random = std::mt19937;

inline void fill_normal(Random& random, const Tensor& x, float scale = 1) {
  fill_normal(random, {x.as<float>(), static_cast<size_t>(x.n_elements())}, scale);
}

inline void fill_weight(Random& random, const WeightType& type, const Tensor& w) {
  if (is_float(type.dtype)) {
    std::vector<float> row(static_cast<size_t>(w.ne[0]));
    for (int64_t r = 0; r < w.n_rows(); ++r) {
      fill_normal(random, row, 0.05f);
      block_format(type.dtype)
          .encode_row(row.data(), w.data + static_cast<size_t>(r) * w.row_size(), w.ne[0]);
    }
    return;
  }
  std::uniform_int_distribution<int> byte(0, 255);
  for (size_t i = 0; i < w.size(); ++i) w.data[i] = static_cast<std::byte>(byte(random));
  std::uniform_real_distribution<float> magnitude(0.001f, 0.01f);
  for (size_t block = 0; block < w.size(); block += traits(type.dtype).block_bytes) {
    for (const size_t at : type.halves) {
      const bool negative =
          std::count(type.negatives.begin(), type.negatives.end(), at) && byte(random) < 128;
      const f16_bits half = f16_from_f32(negative ? -magnitude(random) : magnitude(random));
      std::memcpy(w.data + block + at, &half, sizeof(half));
    }
  }
}

// On a device, of numbers of their own each time; with a bias, or without.
inline Linear random_linear(OpBench& bench, Random& random, const WeightType& type, int64_t n_in,
                            int64_t n_out, bool has_bias) {
  OwnedTensor weight(type.dtype, n_in, n_out);
  fill_weight(random, type, weight.tensor);
  Linear linear{bench.upload(type.dtype, {n_in, n_out, 1, 1}, {weight.tensor.data, weight.tensor.size()}),
                {}};
  if (has_bias) linear.bias = bench.upload({n_out, 1, 1, 1}, random_floats(random, n_out));
  return linear;
}

}  // namespace parlance::test
