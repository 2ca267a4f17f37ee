// What GgufFile holds: views on the bytes of a file that has been checked, and orders to find records by
// name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/os/file.h"
#include "base/os/huge_pages.h"
#include "base/result.h"
#include "gguf/reader.h"

namespace parlance {

inline std::string_view record_name(const std::pair<std::string_view, GgufValue>& record) {
  return record.first;
}
inline std::string_view record_name(const GgufTensor& record) {
  return record.name;
}

// Finds records by name by binary search. Sorting has no bad case that a file could provoke, as a hash table
// whose hash is known would have, and costs four bytes a record.
class NameIndex {
 public:
  template <class Record>
  void build(const std::vector<Record>& records) {
    order_.resize(records.size());
    for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<uint32_t>(i);
    std::sort(order_.begin(), order_.end(), [&records](uint32_t a, uint32_t b) {
      return record_name(records[a]) < record_name(records[b]);
    });
  }

  // A name that two records carry.
  template <class Record>
  std::optional<std::string_view> duplicate(const std::vector<Record>& records) const {
    for (size_t i = 1; i < order_.size(); ++i) {
      const std::string_view name = record_name(records[order_[i]]);
      if (name == record_name(records[order_[i - 1]])) return name;
    }
    return std::nullopt;
  }

  template <class Record>
  const Record* find(const std::vector<Record>& records, std::string_view name) const {
    const auto at = std::lower_bound(
        order_.begin(), order_.end(), name,
        [&records](uint32_t i, std::string_view wanted) { return record_name(records[i]) < wanted; });
    if (at == order_.end() || record_name(records[*at]) != name) return nullptr;
    return &records[*at];
  }

 private:
  std::vector<uint32_t> order_;
};

struct GgufFile::Contents {
  std::string name;
  std::optional<MappedFile> mapping;                 // none when the caller keeps the bytes
  mutable std::vector<OwnCopy> own_copies;           // that are to be made of stretches of all parts
  mutable std::unique_ptr<HugePageMove> huge_pages;  // of the mapping: its readers do not notice
  std::span<const std::byte> bytes;
  std::span<const std::byte> data;
  uint32_t version = 0;
  uint32_t alignment = kGgufDefaultAlignment;
  std::vector<std::pair<std::string_view, GgufValue>> metadata;
  NameIndex key_index;
  std::vector<GgufTensor> tensors;
  NameIndex tensor_index;
  std::vector<std::shared_ptr<const Contents>>
      other_parts;  // of a split model, whose tensors are among `tensors`

  // Maps a file and parses it.
  static Result<std::shared_ptr<Contents>> open(const std::filesystem::path& path);
  // Fills everything but the mapping from `bytes`, or says what is wrong with them.
  Result<void> parse();
};

// A name from a file as it may stand in a one-line message: long ones cut, unprintable bytes as \xNN.
std::string printable(std::string_view name);

}  // namespace parlance
