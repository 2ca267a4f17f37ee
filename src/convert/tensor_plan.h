// The tensors of a file that is about to be written: each from one of the folder's, or computed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "convert/weight_folder.h"
#include "gguf/writer.h"

namespace parlance {

// What matrices become. Vectors, and what is small and precise, are f32.
struct ConvertType {
  std::optional<DType> dtype;  // none: as in the folder

  DType of(DType source) const { return dtype.value_or(source); }
};

struct TensorPlan {
  std::string name;
  std::vector<int64_t> ne;  // fastest first
  DType dtype = DType::f32;
  const SafeTensor* source = nullptr;  // null: `values`
  std::function<Result<std::vector<float>>()> values = {};
  // The rows of `source` in another order, before they are converted; may be null.
  std::function<void(std::vector<std::byte>& bytes, size_t row_bytes)> reorder = {};
};

// A tensor of the folder under another name. Its shape may be given anew (fastest first); a type that rows do
// not divide into becomes f16. Errors: of a type or shape that no model has.
Result<TensorPlan> plan_tensor(const WeightFolder& folder, const SafeTensor& source, std::string name,
                               DType dtype, std::vector<int64_t> ne = {});

// Vectors, and matrices that are norms: f32; others: as wanted.
DType usual_type(const SafeTensor& source, std::string_view name, const ConvertType& type);

struct ConvertProgress {
  std::string_view file, tensor;
  size_t n_done = 0, n_tensors = 0;
};

// Writes metadata and tensors; memory is that of the largest tensor, twice. `path` appears whole or not at
// all. Errors: the disk has no room (before anything is written), a value that is no number or that the type
// cannot hold, cancelled by the progress function.
Result<uint64_t> write_model(GgufWriter& writer, const WeightFolder& folder,
                             const std::vector<TensorPlan>& tensors, const std::filesystem::path& path,
                             const std::function<bool(const ConvertProgress&)>& progress);

}  // namespace parlance
