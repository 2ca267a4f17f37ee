#include "support/json_file.h"
#include "text/spoken_form.h"

#include <random>
#include <string>

#include "support/fixtures.h"
#include "text/number_words.h"

namespace parlance {
namespace {

TEST(SpokenForm, IsThatOfThePythonTwin) {
  const auto vectors = test::read_json(test::source_root() / "training/speech/spoken_form.json");
  ASSERT_GT(vectors.size(), 100u);
  for (const auto& vector : vectors) {
    const auto text = vector["text"].get<std::string>();
    EXPECT_EQ(to_say(text), vector["to_say"].get<std::string>()) << text;
    EXPECT_EQ(spoken(text), vector["spoken"].get<std::string>()) << text;
    EXPECT_EQ(spoken(spoken(text)), spoken(text)) << text;
  }
}

TEST(SpokenForm, KeepsTheSentence) {
  EXPECT_EQ(to_say("23 + 5 = 28, at 3:40 pm!"),
            "twenty three plus five equals twenty eight, at three forty P M!");
  EXPECT_EQ(spoken("23 + 5 = 28, at 3:40 pm!"),
            "twenty three plus five equals twenty eight at three forty p m");
  EXPECT_EQ(spoken("Caf\u00e9 costs \u20ac5\u2014don\u2019t ask."), "cafe costs five euros don't ask");
  EXPECT_EQ(spoken(""), "");
  EXPECT_EQ(spoken("... \u6f22\u5b57 \xff"), "");
}

TEST(NumberWords, TellNumbersApart) {
  EXPECT_EQ(cardinal(0), "zero");
  EXPECT_EQ(cardinal(999999), "nine hundred ninety nine thousand nine hundred ninety nine");
  EXPECT_EQ(number_words("1984"), "nineteen eighty four");
  EXPECT_EQ(number_words("2005"), "two thousand five");
  EXPECT_EQ(number_words("0134"), "zero one three four");
  EXPECT_EQ(number_words(std::string(5000, '9')).size(), 5000 * std::string("nine ").size() - 1);
  EXPECT_EQ(ordinal(20), "twentieth");
  EXPECT_EQ(ordinal(112), "one hundred twelfth");
}

// Texts of pieces that mean something, cut at any byte.
TEST(SpokenForm, OfAnyBytesIsWords) {
  const std::vector<std::string> pieces = {"3:40", "pm", " ", "-",  "1,234.5", "km", "$",
                                           "Mr.",  "A",  "x", "/",  "\u00e9",  "'",  "am",
                                           "\xff", "7",  "#", ". ", "U.S.",    "*"};
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (unsigned n = random() % 10; n > 0; --n) text += pieces[random() % pieces.size()];
    if (!text.empty()) text.erase(random() % text.size(), random() % 2);
    const std::string words = spoken(text);
    EXPECT_EQ(words.find_first_not_of("abcdefghijklmnopqrstuvwxyz' "), std::string::npos) << text;
    EXPECT_EQ(words.find("  "), std::string::npos) << text;
    if (!words.empty()) {
      EXPECT_TRUE(words.front() != ' ' && words.back() != ' ') << text;
    }
  }
}

}  // namespace
}  // namespace parlance
