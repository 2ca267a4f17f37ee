#include "tokenizer/string_table.h"

#include <array>
#include <bit>
#include <cstring>
#include <random>

namespace parlance {

namespace {

uint64_t load_8(const char* at) {
  uint64_t value;
  std::memcpy(&value, at, 8);
  return value;
}

uint64_t load_4(const char* at) {
  uint32_t value;
  std::memcpy(&value, at, 4);
  return value;
}

// Both halves of the 128-bit product, folded.
uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint32_t tag_of(uint64_t hash) {
  return static_cast<uint32_t>(hash >> 32);
}

struct Seed {
  uint64_t a, b;
  Seed() {
    std::random_device random;
    const auto draw = [&] { return (static_cast<uint64_t>(random()) << 32 | random()) | 1; };
    a = draw();
    b = draw();
  }
};

}  // namespace

uint64_t hash_string(std::string_view text) {
  static const Seed seed;
  const char* at = text.data();
  size_t left = text.size();
  uint64_t state = seed.a ^ left;
  for (; left > 16; left -= 16, at += 16) state = mix(load_8(at) ^ seed.b, load_8(at + 8) ^ state);
  uint64_t head = 0, tail = 0;  // of the last 16 bytes or fewer; they may overlap
  if (left >= 8) {
    head = load_8(at);
    tail = load_8(at + left - 8);
  } else if (left >= 4) {
    head = load_4(at);
    tail = load_4(at + left - 4);
  } else if (left > 0) {
    head = static_cast<uint64_t>(static_cast<uint8_t>(at[0])) << 16 |
           static_cast<uint64_t>(static_cast<uint8_t>(at[left / 2])) << 8 |
           static_cast<uint8_t>(at[left - 1]);
  }
  return mix(mix(head ^ seed.b, tail ^ state), seed.a ^ seed.b);
}

size_t StringTable::slot_of(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].number != 0 &&
         (slots_[at].tag != tag_of(hash) || strings_[slots_[at].number - 1] != text)) {
    at = (at + 1) & mask;
  }
  return at;
}

std::optional<std::pair<uint32_t, uint32_t>> StringTable::assign(std::vector<std::string_view> strings) {
  strings_ = std::move(strings);
  slots_.assign(std::bit_ceil(strings_.size() / 3 * 4 + kFirstSlots), {});
  n_used_ = 0;
  // Slots are far apart in memory: each is asked for some strings before it is needed.
  constexpr size_t kAhead = 16;
  std::array<uint64_t, kAhead> hashes{};
  for (size_t i = 0; i < strings_.size() + kAhead; ++i) {
    uint64_t& hash = hashes[i % kAhead];
    if (i >= kAhead && !strings_[i - kAhead].empty()) {
      const auto number = static_cast<uint32_t>(i - kAhead);
      Slot& slot = slots_[slot_of(strings_[number], hash)];
      if (slot.number != 0) return std::pair(slot.number - 1, number);
      slot = {tag_of(hash), number + 1};
      ++n_used_;
    }
    if (i < strings_.size()) {
      hash = hash_string(strings_[i]);
      __builtin_prefetch(&slots_[hash & (slots_.size() - 1)], 1);
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> StringTable::insert(std::string_view text) {
  if ((n_used_ + 1) * 4 > slots_.size() * 3) grow();
  const uint64_t hash = hash_string(text);
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.number != 0) return slot.number - 1;
  strings_.push_back(text);
  slot = {tag_of(hash), static_cast<uint32_t>(strings_.size())};
  ++n_used_;
  return std::nullopt;
}

int64_t StringTable::find(std::string_view text) const {
  return static_cast<int64_t>(slots_[slot_of(text, hash_string(text))].number) - 1;
}

void StringTable::grow() {
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(old.size() * 2, {});
  for (const Slot& slot : old) {
    if (slot.number == 0) continue;
    const std::string_view text = strings_[slot.number - 1];
    slots_[slot_of(text, hash_string(text))] = slot;
  }
}

}  // namespace parlance
