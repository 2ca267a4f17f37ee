// A hash table from strings that live elsewhere to numbers: one allocation, no copies of the strings.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace parlance {

// A hash that nobody who writes a file can foresee: it is seeded when the program starts, so that no
// vocabulary can be made whose strings all fall into one slot.
uint64_t hash_string(std::string_view text);

class StringTable {
 public:
  // Room for so many strings without growing.
  explicit StringTable(size_t n_expected = 0);

  // Gives the string the next number; what it views must stay valid. If an equal one is there, nothing is
  // stored and its number is returned.
  std::optional<uint32_t> insert(std::string_view text);

  // Number of the equal string, or -1.
  int64_t find(std::string_view text) const;

  size_t size() const { return strings_.size(); }
  std::string_view operator[](uint32_t n) const { return strings_[n]; }

  // Takes the next number for a string that find() shall never yield.
  void skip(std::string_view text) { strings_.push_back(text); }

 private:
  struct Slot {
    uint32_t tag = 0;     // upper bits of the hash
    uint32_t number = 0;  // plus one; 0: empty
  };
  void grow();

  std::vector<std::string_view> strings_;
  std::vector<Slot> slots_;  // a power of two, at most 3/4 in use
  size_t n_used_ = 0;
};

}  // namespace parlance
