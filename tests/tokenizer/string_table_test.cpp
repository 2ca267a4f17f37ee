#include "tokenizer/string_table.h"

#include <string>

#include "gtest/gtest.h"

namespace parlance {
namespace {

std::vector<std::string> many_strings() {
  std::vector<std::string> strings;
  for (int i = 0; i < 3000; ++i)
    strings.push_back(std::string(static_cast<size_t>(i % 40), 'x') + std::to_string(i));
  return strings;
}

TEST(StringTable, FindsWhatWasInsertedOneByOne) {
  const std::vector<std::string> strings = many_strings();
  StringTable table;
  EXPECT_EQ(table.find("x"), -1);
  for (const std::string& text : strings) EXPECT_FALSE(table.insert(text));
  EXPECT_EQ(table.size(), strings.size());
  for (uint32_t i = 0; i < strings.size(); ++i) {
    EXPECT_EQ(table.find(strings[i]), i);
    EXPECT_EQ(table[i], strings[i]);
    EXPECT_EQ(table.insert(strings[i]), i);
  }
  EXPECT_EQ(table.find("nowhere"), -1);
}

TEST(StringTable, FindsWhatWasAssigned) {
  const std::vector<std::string> strings = many_strings();
  StringTable table;
  EXPECT_FALSE(table.assign({strings.begin(), strings.end()}));
  for (uint32_t i = 0; i < strings.size(); ++i) EXPECT_EQ(table.find(strings[i]), i);
  EXPECT_EQ(table.find("nowhere"), -1);
  const std::string more = "one more";
  EXPECT_FALSE(table.insert(more));
  EXPECT_EQ(table.find("one more"), static_cast<int64_t>(strings.size()));
}

TEST(StringTable, NamesTwinsAndSkipsEmptyStrings) {
  StringTable table;
  EXPECT_FALSE(table.assign({"", "a", "", "b"}));
  EXPECT_EQ(table.find(""), -1);
  EXPECT_EQ(table.find("b"), 3);
  EXPECT_EQ(table.size(), 4u);
  EXPECT_EQ(table.assign({"a", "b", "c", "b"}), std::pair(1u, 3u));
}

// Each byte matters at every length that the hash treats in its own way.
TEST(StringTable, HashSeesEveryByte) {
  for (size_t n = 0; n < 40; ++n) {
    const std::string text(n, 'a');
    EXPECT_NE(hash_string(text), hash_string(text + 'a'));
    for (size_t i = 0; i < n; ++i) {
      std::string other = text;
      other[i] = 'b';
      EXPECT_NE(hash_string(text), hash_string(other)) << n << " bytes, byte " << i;
    }
  }
}

}  // namespace
}  // namespace parlance
