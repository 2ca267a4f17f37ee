#include "tokenizer/byte_alphabet.h"

#include "tokenizer/unicode.h"

namespace parlance {

namespace {

constexpr char32_t kFirstSubstitute = 0x100;

constexpr bool is_printable(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<ByteCharacter, 256> characters;
  std::array<int16_t, kFirstSubstitute + 68> bytes;  // by code point; -1: not in the alphabet

  Alphabet() {
    bytes.fill(-1);
    char32_t substitute = kFirstSubstitute;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const char32_t character = is_printable(byte) ? byte : substitute++;
      bytes[character] = static_cast<int16_t>(byte);
      std::string utf8;
      append_utf8(utf8, character);
      characters[byte] = {{utf8[0], utf8.size() > 1 ? utf8[1] : '\0'}, static_cast<uint8_t>(utf8.size())};
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

const std::array<ByteCharacter, 256>& byte_alphabet() {
  return alphabet().characters;
}

void append_byte_characters(std::string& text, std::string_view bytes) {
  const std::array<ByteCharacter, 256>& characters = byte_alphabet();
  for (const char byte : bytes) {
    const ByteCharacter& character = characters[static_cast<uint8_t>(byte)];
    text.append(character.utf8.data(), character.n_bytes);
  }
}

std::optional<uint8_t> byte_of_character(char32_t code_point) {
  const auto& bytes = alphabet().bytes;
  if (code_point >= bytes.size() || bytes[code_point] < 0) return std::nullopt;
  return static_cast<uint8_t>(bytes[code_point]);
}

}  // namespace parlance
