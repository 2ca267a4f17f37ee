// The alphabet of byte-level BPE: each byte is written as one printable character, so that vocabularies are
// text. Printable bytes are the character of the same value, the other 68 are U+0100 upwards in ascending
// order (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace parlance {

struct ByteCharacter {
  std::array<char, 2> utf8;
  uint8_t n_bytes;  // of utf8: 1 or 2
};

// The character of each byte.
const std::array<ByteCharacter, 256>& byte_alphabet();

// Appends the characters of the bytes.
void append_byte_characters(std::string& text, std::string_view bytes);

// The byte that a code point stands for, if it is in the alphabet.
std::optional<uint8_t> byte_of_character(char32_t code_point);

}  // namespace parlance
