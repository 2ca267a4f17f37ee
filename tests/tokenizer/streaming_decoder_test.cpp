#include <random>

#include "gtest/gtest.h"
#include "text/unicode.h"
#include "tokenizer/tokenizer.h"

namespace parlance {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

std::string decode_whole(const std::string& bytes) {
  StreamingDecoder decoder;
  std::string text = decoder.push(bytes);
  return text + decoder.finish();
}

bool is_valid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const uint32_t n = utf8_sequence(text, at);
    if (n == 0) return false;
    const char32_t c = decode_code_point(text, at).value;
    if (c >= 0xD800 && c <= 0xDFFF) return false;
    at += n;
  }
  return true;
}

// Random bytes in which valid, broken and cut sequences are all frequent.
std::string random_bytes(std::mt19937_64& random) {
  const std::string parts[] = {"a",    "\xC3\xA9", "\xE4\xB8\xAD", "\xF0\x9F\x99\x82", "\xF0\x9F", "\xE4",
                               "\x80", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE0\x80", "\xFF"};
  std::string bytes;
  for (uint64_t n = random() % 12; n > 0; --n) {
    bytes += random() % 4 ? parts[random() % std::size(parts)] : std::string(1, static_cast<char>(random()));
  }
  return bytes;
}

// Table 3-8 of the Unicode standard and its neighbours: one replacement for each maximal subpart.
TEST(StreamingDecoder, ReplacesMaximalSubparts) {
  const std::string r = kReplacement;
  EXPECT_EQ(decode_whole("a\xF1\x80\x80\xE1\x80\xC2"
                         "b\x80"
                         "c\x80\xBF"
                         "d"),
            "a" + r + r + r + "b" + r + "c" + r + r + "d");
  EXPECT_EQ(decode_whole("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(decode_whole("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(decode_whole("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(decode_whole("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
}

TEST(StreamingDecoder, HoldsBackOnlyWhatIsIncomplete) {
  StreamingDecoder decoder;
  EXPECT_EQ(decoder.push("ab\xF0"), "ab");
  EXPECT_EQ(decoder.push("\x9F\x99"), "");
  EXPECT_EQ(decoder.push("\x82!"), "\xF0\x9F\x99\x82!");
  EXPECT_EQ(decoder.push("\xE4\xB8"), "");
  EXPECT_EQ(decoder.push("x"), std::string(kReplacement) + "x");
  EXPECT_EQ(decoder.push("\xE4\xB8"), "");
  EXPECT_EQ(decoder.finish(), kReplacement);
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(decoder.push("ok"), "ok");
}

TEST(StreamingDecoder, AnySplitGivesTheSameWholeTextAndNoBrokenCodePoint) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 20000; ++round) {
    const std::string bytes = random_bytes(random);
    const std::string whole = decode_whole(bytes);
    ASSERT_TRUE(is_valid_utf8(whole));
    if (is_valid_utf8(bytes)) {
      ASSERT_EQ(whole, bytes);
    }
    StreamingDecoder decoder;
    std::string joined;
    for (size_t at = 0; at < bytes.size();) {
      const size_t n = std::min<size_t>(random() % 4, bytes.size() - at);
      const std::string text = decoder.push(std::string_view(bytes).substr(at, n));
      ASSERT_TRUE(is_valid_utf8(text));
      joined += text;
      at += n;
    }
    ASSERT_EQ(joined + decoder.finish(), whole) << testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace parlance
