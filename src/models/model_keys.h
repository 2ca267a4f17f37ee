// Reads the metadata keys `<architecture>.*` of a model's file; every error names the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "gguf/reader.h"

namespace parlance {

// Far beyond any real model, near enough that products of sizes fit 64 bits.
inline constexpr int64_t kMaxLayers = 4096;
inline constexpr int64_t kMaxSize = int64_t{1} << 24;
inline constexpr int64_t kMaxHeads = 4096;
inline constexpr int64_t kMaxHeadDim = 4096;
inline constexpr int64_t kMaxContext = int64_t{1} << 31;

class ModelKeys {
 public:
  ModelKeys(const GgufFile& file, std::string architecture) : file_(file), prefix_(std::move(architecture)) {}

  std::string key(std::string_view name) const { return prefix_ + "." + std::string(name); }

  Result<int64_t> integer(std::string_view name, int64_t min, int64_t max) const;
  Result<int64_t> integer_or(std::string_view name, int64_t fallback, int64_t min, int64_t max) const;

  // A key that may be an array with one value a layer; this program wants them all equal.
  Result<std::optional<int64_t>> uniform(std::string_view name, int64_t min, int64_t max) const;
  Result<int64_t> uniform_required(std::string_view name, int64_t min, int64_t max) const;

  Result<double> number_or(std::string_view name, double fallback) const;
  // A number that only makes sense finite and above zero.
  Result<double> positive_or(std::string_view name, double fallback) const;

 private:
  const GgufFile& file_;
  std::string prefix_;
};

}  // namespace parlance
