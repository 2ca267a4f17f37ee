#include "tokenizer/string_table.h"

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

StringTable::StringTable(size_t n_expected) {
  strings_.reserve(n_expected);
  slots_.resize(std::bit_ceil(n_expected / 3 * 4 + 8));
}

std::optional<uint32_t> StringTable::insert(std::string_view text) {
  if ((n_used_ + 1) * 4 > slots_.size() * 3) grow();
  const uint64_t hash = hash_string(text);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].number != 0) {
    if (slots_[at].tag == tag && strings_[slots_[at].number - 1] == text) return slots_[at].number - 1;
    at = (at + 1) & (slots_.size() - 1);
  }
  strings_.push_back(text);
  slots_[at] = {tag, static_cast<uint32_t>(strings_.size())};
  ++n_used_;
  return std::nullopt;
}

int64_t StringTable::find(std::string_view text) const {
  const uint64_t hash = hash_string(text);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].number != 0) {
    if (slots_[at].tag == tag && strings_[slots_[at].number - 1] == text) return slots_[at].number - 1;
    at = (at + 1) & (slots_.size() - 1);
  }
  return -1;
}

void StringTable::grow() {
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(old.size() * 2, {});
  for (const Slot& slot : old) {
    if (slot.number == 0) continue;
    size_t at = hash_string(strings_[slot.number - 1]) & (slots_.size() - 1);
    while (slots_[at].number != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

}  // namespace parlance
