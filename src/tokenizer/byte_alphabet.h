// The alphabet of byte-level BPE: each byte is written as one printable character, so that vocabularies are
// text. Printable bytes are the character of the same value, the other 68 are U+0100 upwards in ascending
// order (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners").
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace parlance {

// UTF-8 of the character of a byte.
struct ByteCharacter {
  std::array<char, 2> utf8;
  uint8_t n_bytes;  // 1 or 2

  std::string_view view() const { return {utf8.data(), n_bytes}; }
};

namespace byte_alphabet_detail {

constexpr char32_t kFirstSubstitute = 0x100;
constexpr size_t kSubstituteCount = 68;

constexpr bool is_printable(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<ByteCharacter, 256> characters{};
  std::array<int16_t, kFirstSubstitute + kSubstituteCount> bytes{};  // by code point; -1: not in the alphabet

  constexpr Alphabet() {
    for (int16_t& byte : bytes) byte = -1;
    char32_t substitute = kFirstSubstitute;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const char32_t character = is_printable(byte) ? byte : substitute++;
      bytes[character] = static_cast<int16_t>(byte);
      if (character < 0x80) {
        characters[byte] = {{static_cast<char>(character), '\0'}, 1};
      } else {
        characters[byte] = {
            {static_cast<char>(0xC0 | character >> 6), static_cast<char>(0x80 | (character & 0x3F))}, 2};
      }
    }
  }
};

inline constexpr Alphabet kAlphabet;

}  // namespace byte_alphabet_detail

// The character that a byte is written as.
inline const ByteCharacter& character_of_byte(uint8_t byte) {
  return byte_alphabet_detail::kAlphabet.characters[byte];
}

// The byte that a character stands for, or -1 when it is not in the alphabet.
inline int byte_of_character(char32_t code_point) {
  const auto& bytes = byte_alphabet_detail::kAlphabet.bytes;
  return code_point < bytes.size() ? bytes[code_point] : -1;
}

}  // namespace parlance
