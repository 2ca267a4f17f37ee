// Writes a GGUF file anew with its matrices in another type.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace parlance {

struct QuantizeProgress {
  std::string_view tensor;  // the one just written
  DType from;
  DType to;
  size_t n_tensors_done;
  size_t n_tensors;
  uint64_t bytes_done;   // of tensor data read
  uint64_t bytes_total;  // of tensor data to read
};

struct QuantizeOptions {
  std::string mixture;  // see mixture_names()
  int n_threads = 0;    // 0: one for each processor that this process may use
  // Called after each tensor; false stops the work, and no file is written.
  std::function<bool(const QuantizeProgress&)> progress;
};

struct QuantizeReport {
  struct TypeCount {
    DType dtype;
    size_t n_tensors;
    uint64_t bytes;  // of tensor data
  };
  std::vector<TypeCount> before;  // by type id
  std::vector<TypeCount> after;
  uint64_t bytes_before = 0;  // of tensor data
  uint64_t bytes_after = 0;
  size_t n_fallback = 0;  // tensors whose rows do not divide into blocks of the type that the mixture wants
  size_t n_requantised = 0;  // tensors that were quantised in the input already and lose accuracy twice
};

// Quantises in_path into out_path under the rules of the mixture; tensor data are byte for byte those of
// llama-quantize. Metadata are copied, general.file_type and general.quantization_version set. out_path
// appears whole or not at all. Errors: an unknown mixture, an input that is not a GGUF file or is one part of
// a split model, a tensor of a type that this program cannot read, or with a value that is not finite or that
// the type cannot hold; cancelled by the progress function. An input that is quantised already is warned of
// in the log.
Result<QuantizeReport> quantize_file(const std::filesystem::path& in_path,
                                     const std::filesystem::path& out_path, const QuantizeOptions& options);

}  // namespace parlance
