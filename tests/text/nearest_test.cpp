#include "text/nearest.h"

#include "gtest/gtest.h"

namespace parlance {
namespace {

TEST(EditDistance, CountsSwapsAsOne) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", "abc"), 0u);
  EXPECT_EQ(edit_distance("abc", "acb"), 1u);
  EXPECT_EQ(edit_distance("abc", "bc"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Nearest, IsWithinAThirdOfTheWord) {
  const std::vector<std::string> words = {"english", "german", "thai"};
  EXPECT_EQ(nearest("egnlish", words), "english");
  EXPECT_EQ(nearest("tai", words), "thai");
  EXPECT_EQ(nearest("klingon", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest(std::string(5000, 'x'), words), "");
}

}  // namespace
}  // namespace parlance
