// Writes GGUF v3 files: metadata first, then tensors whose bytes are produced one after the other, so that a
// file larger than memory can be written. The file appears under its name only when finish() succeeds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/os/file.h"
#include "base/result.h"
#include "gguf/reader.h"
#include "gguf/types.h"

namespace parlance {

class GgufWriter {
 public:
  // Setting a key again replaces its value and keeps its place. The key general.alignment, when set, is the
  // alignment that the file is written with; without it that is 32, which every reader and tool handles.
  void set_string(std::string_view key, std::string_view value);
  void set_u32(std::string_view key, uint32_t value);
  void set_u64(std::string_view key, uint64_t value);
  void set_i32(std::string_view key, int32_t value);
  void set_f32(std::string_view key, float value);
  void set_bool(std::string_view key, bool value);
  void set_strings(std::string_view key, std::span<const std::string> values);
  void set_i32s(std::string_view key, std::span<const int32_t> values);
  void set_bools(std::string_view key, const std::vector<bool>& values);
  void set_f32s(std::string_view key, std::span<const float> values);
  void copy(std::string_view key, const GgufValue& value);

  // Declares the next tensor; sizes fastest first.
  void add_tensor(std::string_view name, DType dtype, std::span<const int64_t> ne);

  // Writes header, metadata and tensor records to a temporary file beside `path`. A key or tensor that a
  // reader would refuse (an empty or repeated name, rows that are no whole blocks) is an error here.
  Result<void> begin(const std::filesystem::path& path);
  // Bytes of the declared tensors, in order; each call is one whole tensor. After begin().
  Result<void> write_tensor(std::span<const std::byte> bytes);
  // Checks that every tensor was written and gives the file its name.
  Result<void> finish();

 private:
  struct Key {
    std::string name;
    std::string encoded;  // type and value as in the file
  };
  struct Declared {
    std::string name;
    DType dtype;
    std::vector<int64_t> ne;
    size_t bytes;  // known after begin()
  };
  void set(std::string_view key, std::string encoded);
  Result<uint32_t> alignment() const;
  Result<std::string> tensor_records(uint32_t alignment);
  Result<void> pad();

  std::vector<Key> keys_;
  std::map<std::string, size_t, std::less<>> key_places_;
  std::vector<Declared> tensors_;
  std::filesystem::path path_;
  uint32_t alignment_ = kGgufDefaultAlignment;
  size_t next_ = 0;                 // tensor that write_tensor() expects
  std::optional<AtomicFile> file_;  // none before begin()
};

}  // namespace parlance
