#include "tokenizer/unicode.h"

#include "gtest/gtest.h"
#include "tokenizer/byte_alphabet.h"

namespace parlance {
namespace {

TEST(Unicode, EveryCodePointIsOneSequence) {
  for (char32_t c = 0; c < 0x110000; c += c < 0x20000 ? 1 : 97) {
    std::string text;
    append_utf8(text, c);
    ASSERT_EQ(utf8_sequence(text, 0), text.size()) << std::hex << static_cast<uint32_t>(c);
    ASSERT_EQ(decode_code_point(text, 0).value, c);
    ASSERT_EQ(decode_code_point(text, 0).n_bytes, text.size());
    for (size_t cut = 1; cut < text.size(); ++cut)
      ASSERT_EQ(utf8_sequence(std::string_view(text).substr(0, cut), 0), 0u);
  }
}

TEST(Unicode, EachInvalidByteIsReplacedAlone) {
  const std::string r = "\xEF\xBF\xBD";
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"plain ASCII text, longer than eight bytes", "plain ASCII text, longer than eight bytes"},
      {"\xFF\xFE", r + r},
      {"abcdefghij\x80klmnopqrst", "abcdefghij" + r + "klmnopqrst"},
      {"\xE4\xBD", r + r},
      {"\xF0\x9F\x99", r + r + r},
      {"\xC0\xAF", r + r},                              // overlong
      {"\xE0\x9F\xBF", r + r + r},                      // overlong
      {"\xF0\x8F\xBF\xBF", r + r + r + r},              // overlong
      {"\xF4\x90\x80\x80", r + r + r + r},              // above U+10FFFF
      {"\xED\xA0\x80", "\xED\xA0\x80"},                 // a surrogate passes
      {"\xE4\xBD\xA0\xE4\xBD", "\xE4\xBD\xA0" + r + r}  // a cut tail
  };
  for (const auto& [bytes, expected] : cases) {
    std::string storage;
    EXPECT_EQ(replace_invalid(bytes, storage), expected) << testing::PrintToString(bytes);
  }
}

TEST(Unicode, ClassesOfSomeCodePoints) {
  const std::pair<char32_t, int> cases[] = {{'a', kLetter},
                                            {0x4E2D, kLetter},
                                            {0x2B0, kLetter},
                                            {'7', kNumber},
                                            {0xBD, kNumber},
                                            {0x2167, kNumber},
                                            {0x301, kMark},
                                            {0x903, kMark},
                                            {0x20DD, kMark},
                                            {' ', kSpace},
                                            {'\t', kSpace},
                                            {0x85, kSpace},
                                            {0x200A, kSpace},
                                            {0x200B, 0},
                                            {'\r', kSpace | kNewline},
                                            {'\n', kSpace | kNewline},
                                            {'!', kPunctuation},
                                            {'_', kPunctuation},
                                            {'$', 0},
                                            {0x1F642, 0},
                                            {0xE000, 0},
                                            {0xD800, 0},
                                            {0x10FFFF, 0},
                                            {0x180E, 0},
                                            {0x3000, kSpace},
                                            {0xFFFD, 0}};
  for (const auto& [c, expected] : cases)
    EXPECT_EQ(char_class(c), expected) << std::hex << static_cast<uint32_t>(c);
}

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
