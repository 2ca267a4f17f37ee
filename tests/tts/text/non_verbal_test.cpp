#include "tts/text/non_verbal.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace parlance {
namespace {

using Parts = std::vector<std::string>;

Parts split(std::string_view text) {
  Parts parts;
  split_non_verbal(text, [&](std::string_view part) { parts.emplace_back(part); });
  return parts;
}

TEST(NonVerbalTags, StandByThemselves) {
  EXPECT_EQ(split("[laughter] You got me[sigh]."), (Parts{"[laughter]", " You got me", "[sigh]", "."}));
  EXPECT_EQ(split("[surprise-ah][question-en]x"), (Parts{"[surprise-ah]", "[question-en]", "x"}));
  EXPECT_EQ(split("[[sigh]]"), (Parts{"[", "[sigh]", "]"}));
}

TEST(NonVerbalTags, AreKnownWordForWord) {
  for (const char* text : {"[unknown]", "[Sigh]", "[sigh", "sigh]", "[", "]", "[ sigh]", "\xFF[\xC3"}) {
    EXPECT_EQ(split(text), Parts{text});
  }
  EXPECT_EQ(split(""), Parts{});
}

TEST(NonVerbalTags, AreFoundByPlace) {
  EXPECT_EQ(non_verbal_tag("a[sigh]b", 1), 6u);
  EXPECT_EQ(non_verbal_tag("a[sigh]b", 0), 0u);
  EXPECT_EQ(non_verbal_tag("[dissatisfaction-hnn]", 0), 21u);
  EXPECT_EQ(non_verbal_tag("[sigh]", 6), 0u);
}

}  // namespace
}  // namespace parlance
