// Files of weights as their makers publish them: a length, a JSON object that says which tensors there are,
// and their bytes. Source: the format's specification (huggingface/safetensors). Everything in the object is
// checked before it is used; the bytes are read tensor by tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/os/file.h"
#include "base/result.h"

namespace parlance {

struct SafeTensor {
  std::string name;
  std::optional<DType> dtype = {};  // none: one of those that no model here has, such as F8_E4M3
  std::string type_name = {};       // as in the file, "BF16"
  std::vector<int64_t> shape = {};  // slowest first
  uint64_t offset = 0;              // in the file
  uint64_t n_bytes = 0;

  int64_t n_values() const;
};

inline constexpr uint64_t kMostSafetensorsHeaderBytes = uint64_t{64} << 20;

// The tensors of a header, in the order of their bytes. Any text is accepted. `data_begin` is where the bytes
// behind the header begin, `data_bytes` how many there are; `name` stands for the file in errors.
Result<std::vector<SafeTensor>> parse_safetensors_header(std::string_view header, uint64_t data_begin,
                                                         uint64_t data_bytes, std::string_view name);

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const std::vector<SafeTensor>& tensors() const { return tensors_; }
  Result<std::vector<std::byte>> read(const SafeTensor& tensor) const;

 private:
  explicit SafetensorsFile(ReadableFile file) : file_(std::move(file)) {}

  ReadableFile file_;
  std::vector<SafeTensor> tensors_;
};

}  // namespace parlance
