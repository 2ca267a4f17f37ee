#include "text/unicode.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

#include "gtest/gtest.h"

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

TEST(Unicode, SanitisedTextIsValidAndKeepsWhatWas) {
  const std::string r = "\xEF\xBF\xBD";
  const std::pair<std::string, std::string> cases[] = {
      {"\xE4\xBD", r},                      // cut: one part, however long
      {"\xF0\x9F\x99x", r + "x"},           // the next character stays
      {"\xED\xA0\x80", r + r + r},          // a surrogate
      {"\xF4\x90\x80\x80", r + r + r + r},  // above U+10FFFF
      {"\xC3\xA4\xFF\xC3\xB6", "\u00e4" + r + "\u00f6"},
  };
  for (const auto& [bytes, expected] : cases) {
    EXPECT_EQ(sanitise_utf8(bytes), expected) << testing::PrintToString(bytes);
    EXPECT_EQ(find_invalid_utf8(expected), std::string::npos);
    EXPECT_NE(find_invalid_utf8(bytes), std::string::npos);
  }
}

// Any bytes: forwards and backwards are the same steps, each of at least one byte.
TEST(Unicode, BothWaysThroughTextAgree) {
  std::mt19937 random(5);
  const std::string pieces[] = {"a",    "\u00e4", "\u4f60",   "\U0001F642",
                                "\x80", "\xC3",   "\xE4\xBD", "\xED\xA0\x80"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (unsigned n = random() % 8; n > 0; --n) text += pieces[random() % std::size(pieces)];
    std::vector<std::pair<size_t, char32_t>> forwards, backwards;
    for (size_t at = 0; at < text.size();) {
      const size_t start = at;
      const char32_t c = next_code_point(text, at);
      ASSERT_GT(at, start);
      ASSERT_EQ(offset_of_code_point(text, forwards.size()), start);
      forwards.emplace_back(start, c);
    }
    for (size_t at = text.size(); at > 0;) {
      const char32_t c = previous_code_point(text, at);
      backwards.emplace_back(at, c);
    }
    std::ranges::reverse(backwards);
    ASSERT_EQ(forwards, backwards) << testing::PrintToString(text);
    ASSERT_EQ(count_code_points(text), forwards.size());
    ASSERT_EQ(last_code_point(text), forwards.empty() ? 0 : forwards.back().second);
    ASSERT_EQ(offset_of_code_point(text, forwards.size() + 1), text.size());
  }
}

TEST(Unicode, EndsAreStripped) {
  EXPECT_EQ(strip("\u2003 \x1c a b\n\u3000"), "a b");
  EXPECT_EQ(strip("\uFEFFa"), "\uFEFFa");  // which Python keeps
  EXPECT_EQ(strip_white_space("\uFEFF \u2003a\t"), "a");
  EXPECT_EQ(strip_white_space("\x1c"
                              "a"),
            "\x1c"
            "a");
  EXPECT_EQ(strip_blanks(" \ta\n "), "a\n");
  for (const char* text : {"", " ", " \t\u3000"}) {
    EXPECT_EQ(strip(text), "");
    EXPECT_EQ(strip_white_space(text), "");
  }
  EXPECT_EQ(strip_blanks("\t "), "");
}

TEST(Unicode, WhatHasASoundCanBeSaid) {
  for (const char* text : {"a", "7", "\u4f60", "...\u00e4", "\u00bd"}) EXPECT_TRUE(can_be_said(text)) << text;
  for (const char* text : {"", " ", "...", "\u2026\u3002", "\U0001F642", "\xFF"})
    EXPECT_FALSE(can_be_said(text));
}

}  // namespace
}  // namespace parlance
