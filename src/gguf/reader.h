// GGUF v3 files (and v2, which has the same bytes), read in place: every count, extent and type is checked
// when the file is opened, and values and tensor data are views on its bytes. Memory and time of opening are
// in proportion to the bytes of keys and tensor records that are really there. Source: the format's
// specification.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/os/file.h"
#include "base/os/huge_pages.h"
#include "base/result.h"
#include "gguf/types.h"

namespace parlance {

struct GgufPart;

// A metadata value: a view on the file.
struct GgufValue {
  GgufType type;
  GgufType element_type;    // of an array
  uint64_t n_elements = 1;  // of an array
  // A scalar; the text of a string without its length; elements of an array back to back.
  std::span<const std::byte> bytes;
};

// Strings of an array value, walked in order without copying (each is a length and its bytes in the file).
class GgufStringArray {
 public:
  GgufStringArray() = default;
  explicit GgufStringArray(const GgufValue& value) : rest_(value.bytes), left_(value.n_elements) {}
  uint64_t size() const { return left_; }  // strings not yet taken
  std::string_view next();                 // size() > 0

 private:
  std::span<const std::byte> rest_;
  uint64_t left_ = 0;
};

struct GgufTensor {
  std::string_view name;
  DType dtype;
  uint32_t n_dims;
  std::array<int64_t, 4> ne;         // fastest first; missing dimensions are 1
  std::span<const std::byte> bytes;  // in the mapping
};

// Tensors lie in the data section in the order of their records, each padded to the alignment: an offset that
// leaves a gap or overlaps is refused, as by other readers.
//
// A model that was split over several files, NAME-00001-of-00003.gguf and so on, is one file here: the
// metadata of the first part but for what tells of the split, and the tensors of all parts, in order.
class GgufFile {
 public:
  GgufFile() = default;
  // Maps and checks a file; of a split model all parts, whichever of them is named.
  static Result<GgufFile> open(const std::filesystem::path& path);
  // Checks bytes that the caller keeps alive; `name` stands for the file in messages. A part of a split model
  // is refused, since nobody knows where the others are.
  static Result<GgufFile> parse(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const;  // path, for messages
  uint32_t version() const;
  uint32_t alignment() const;
  std::span<const std::byte> bytes() const;  // the whole file; of a split model its first part
  std::span<const std::byte> data() const;   // the data section of that
  size_t n_bytes() const;                    // of all parts
  bool still_whole() const;                  // false when a file was shortened after it was opened

  // Begins to move the data sections into huge pages of this process's own memory, see HugePageMove. Bytes
  // that the caller keeps stay where they are.
  void move_to_huge_pages() const;
  // Has a stretch of the data copied then, instead.
  void copy_when_moved(OwnCopy copy) const;
  // Returns when that has ended.
  void wait_for_huge_pages() const;

  // Metadata in file order.
  const std::vector<std::pair<std::string_view, GgufValue>>& metadata() const;
  const GgufValue* find(std::string_view key) const;

  // Typed values. The plain form needs the key to be there; find_* yields an empty optional when it is
  // absent. A value of the wrong type or out of range is an error that names key, expectation and what was
  // found. Integers accept any integer type whose value fits; floats accept f32, f64 and integers; limits
  // include both ends.
  Result<std::string_view> get_string(std::string_view key) const;
  Result<int64_t> get_int(std::string_view key, int64_t min, int64_t max) const;
  Result<double> get_float(std::string_view key) const;
  Result<std::optional<std::string_view>> find_string(std::string_view key) const;
  Result<std::optional<int64_t>> find_int(std::string_view key, int64_t min, int64_t max) const;
  Result<std::optional<double>> find_float(std::string_view key) const;
  Result<std::optional<bool>> find_bool(std::string_view key) const;

  // Arrays. An absent key is an empty optional. find_ints accepts a scalar as an array of one.
  Result<std::optional<GgufStringArray>> find_strings(std::string_view key) const;
  Result<std::optional<std::vector<int64_t>>> find_ints(std::string_view key, int64_t min, int64_t max) const;
  Result<std::optional<std::vector<float>>> find_floats(std::string_view key) const;
  Result<std::optional<std::vector<bool>>> find_bools(std::string_view key) const;

  const std::vector<GgufTensor>& tensors() const;
  const GgufTensor* find_tensor(std::string_view name) const;

 private:
  struct Contents;
  explicit GgufFile(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}
  // The model of which an open file is a part.
  static Result<GgufFile> join_parts(std::shared_ptr<Contents> opened, const GgufPart& which,
                                     const std::filesystem::path& path);

  std::shared_ptr<const Contents> contents_;
};

}  // namespace parlance
