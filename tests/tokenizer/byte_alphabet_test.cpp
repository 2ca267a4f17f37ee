#include "tokenizer/byte_alphabet.h"

#include "gtest/gtest.h"
#include "text/unicode.h"

namespace parlance {
namespace {

TEST(ByteAlphabet, IsOneToOne) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string_view character = character_of_byte(static_cast<uint8_t>(byte)).view();
    const CodePoint c = decode_code_point(character, 0);
    EXPECT_EQ(c.n_bytes, character.size());
    EXPECT_EQ(byte_of_character(c.value), byte);
    EXPECT_EQ(char_class(c.value) & kSpace, 0);
  }
  EXPECT_EQ(character_of_byte(' ').view(), "\xC4\xA0");
  EXPECT_EQ(character_of_byte('\n').view(), "\xC4\x8A");
  EXPECT_EQ(character_of_byte('a').view(), "a");
  EXPECT_EQ(byte_of_character(' '), -1);
  EXPECT_EQ(byte_of_character(0x144), -1);
  EXPECT_EQ(byte_of_character(0x10FFFF), -1);
}

}  // namespace
}  // namespace parlance
