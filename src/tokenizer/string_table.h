// A hash table from strings that live elsewhere to numbers: one allocation, no copies of the strings.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace parlance {

// A hash that nobody who writes a file can foresee: it is seeded when the program starts, so that no
// vocabulary can be made whose strings all fall into one slot.
uint64_t hash_string(std::string_view text);

class StringTable {
 public:
  StringTable() : slots_(kFirstSlots) {}

  // Stores strings under their places, which is faster than one by one. Empty ones are not stored, and find()
  // never yields them. If two are equal, their numbers are returned and the table is of no use.
  std::optional<std::pair<uint32_t, uint32_t>> assign(std::vector<std::string_view> strings);

  // Gives the string the next number; what it views must stay valid. If an equal one is there, nothing is
  // stored and its number is returned.
  std::optional<uint32_t> insert(std::string_view text);

  // Number of the equal string, or -1.
  int64_t find(std::string_view text) const;

  size_t size() const { return strings_.size(); }
  std::string_view operator[](uint32_t n) const { return strings_[n]; }

 private:
  struct Slot {
    uint32_t tag = 0;     // upper bits of the hash
    uint32_t number = 0;  // plus one; 0: empty
  };
  static constexpr size_t kFirstSlots = 8;

  // The slot of the string, or the free one where it belongs.
  size_t slot_of(std::string_view text, uint64_t hash) const;
  void grow();

  std::vector<std::string_view> strings_;
  std::vector<Slot> slots_;  // a power of two, at most 3/4 in use
  size_t n_used_ = 0;
};

}  // namespace parlance
