// Weights by name, shape and type. What a model asks for and the file lacks, or has in another shape, is an
// error that prints both sides; what the file has and nobody asked for is an error too.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gguf/reader.h"
#include "kernels/device.h"
#include "kernels/op_table.h"
#include "kernels/ops.h"

namespace parlance {

// Memory that a model's tensors point into.
using WeightBuffers = std::vector<std::unique_ptr<Buffer>>;

// Whether matrices are used as the file has them, or decoded to f32 first: several times the memory and the
// time, for comparing with a reference that computes in f32.
enum class WeightPrecision : uint8_t { as_stored, f32 };

// A size of a tensor, fastest first, where no key of the file tells it.
Result<int64_t> size_of_tensor(const GgufFile& file, const std::string& name, size_t dimension);

class WeightLoader {
 public:
  static Result<WeightLoader> create(const GgufFile& file,
                                     WeightPrecision precision = WeightPrecision::as_stored);

  const GgufFile& file() const { return file_; }

  // Where what is asked for from now on goes: pointed at in the mapping on the CPU, uploaded once on a GPU.
  void place_on(Device& device) { device_ = &device; }

  bool has(std::string_view name) const { return file_.find_tensor(name) != nullptr; }

  // A matrix [n_in, n_out] of any type.
  Result<Tensor> matrix(const std::string& name, int64_t n_in, int64_t n_out);
  // `name`.weight of a convolution as a matrix whose rows are its filters, and, if the file has it,
  // `name`.bias. Sizes are the window's, then channels, then filters.
  Result<Linear> filters(const std::string& name, std::initializer_list<int64_t> ne);
  // `name`.weight and, if the file has it, `name`.bias. Products may read a copy of the weight, if the file
  // is moved into huge pages.
  Result<Linear> linear(const std::string& name, int64_t n_in, int64_t n_out);
  // The same for a matrix that was asked for already, such as the embeddings that logits are made with.
  Linear linear(const Tensor& weight);
  // The columns of `name`.weight [n_blocks * n_in, n_out] as n_blocks matrices of their own, each on its
  // device: a product with streams side by side is the sum of products with each. They are copies.
  Result<std::vector<Linear>> column_blocks(const std::string& name, int64_t n_in,
                                            std::span<Device* const> devices, int64_t n_out);
  // A vector of n values as f32 (norms, biases); half-precision ones are converted.
  Result<Tensor> vector(const std::string& name, int64_t n);
  // The same for a vector that the file has with sizes of 1 around it.
  Result<Tensor> vector(const std::string& name, std::initializer_list<int64_t> ne);
  // `name`.weight and `name`.bias of a layer norm.
  Result<NormWeights> layer_norm(const std::string& name, int64_t n);
  // The same for a small matrix that kernels read as f32.
  Result<Tensor> f32_matrix(const std::string& name, int64_t n0, int64_t n1);
  // The same in host memory, for what is laid out anew; sizes fastest first.
  Result<std::vector<float>> values(const std::string& name, std::initializer_list<int64_t> ne);
  // Values of our own, placed on the device.
  Result<Tensor> constant(std::span<const float> values, int64_t n0, int64_t n1);
  Result<Tensor> constant(std::span<const int32_t> values);
  // The same for the bytes of a tensor that lies elsewhere.
  Result<Tensor> constant(const Tensor& like, std::span<const std::byte> bytes);

  // Allows a tensor that this program has no use for.
  void ignore(std::string_view name) { asked_.insert(std::string(name)); }
  // The same for every tensor of a layer.
  void ignore_layer(int64_t layer);

  // Error when a tensor of the file was not asked for; otherwise the memory that the tensors live in.
  Result<WeightBuffers> finish() &&;

 private:
  WeightLoader(const GgufFile& file, WeightPrecision precision) : file_(file), precision_(precision) {}
  Result<Tensor> as_f32(const GgufTensor& tensor);
  Result<const GgufTensor*> ask(const std::string& name, std::initializer_list<int64_t> ne);
  Result<Tensor> upload(Device& device, std::string_view name, DType dtype, const std::array<int64_t, 4>& ne,
                        std::span<const std::byte> bytes);
  Result<Tensor> place(const GgufTensor& tensor);

  const GgufFile& file_;
  WeightPrecision precision_;
  Device* device_ = nullptr;
  WeightBuffers buffers_;
  std::map<std::pair<const GgufTensor*, Device*>, Tensor> placed_;  // a tied matrix is asked for twice
  std::unordered_set<std::string> asked_;
};

}  // namespace parlance
