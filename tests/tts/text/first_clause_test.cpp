#include "tts/text/first_clause.h"

#include <string>

#include "gtest/gtest.h"
#include "tts/text/duration.h"

namespace parlance {
namespace {

std::string clause(std::string_view text) {
  return std::string(text.substr(0, first_clause(text)));
}

TEST(FirstClause, EndsAtPunctuation) {
  EXPECT_EQ(clause("The weather is fine today. Let us go for a walk in the park."),
            "The weather is fine today.");
  EXPECT_EQ(clause("When the rain stops, we will go outside and play."), "When the rain stops,");
  EXPECT_EQ(clause("\"Is that really true?\" she asked with a smile."), "\"Is that really true?\"");
  EXPECT_EQ(clause("There is one condition: nobody may open the door."), "There is one condition:");
  EXPECT_EQ(clause("Wenn der Regen aufhört, gehen wir hinaus."), "Wenn der Regen aufhört,");
  EXPECT_EQ(clause("Das Wetter ist heute schön. Wir gehen spazieren."), "Das Wetter ist heute schön.");
  EXPECT_EQ(clause("今天天气很好，我们去公园吧。"), "今天天气很好，");
  EXPECT_EQ(clause("我昨天买了一本书。非常有意思！"), "我昨天买了一本书。");
  EXPECT_EQ(clause("الطقس جميل جدا اليوم، لنذهب إلى الحديقة."), "الطقس جميل جدا اليوم،");
  EXPECT_EQ(clause("今日はとても天気がいいので、公園に行きましょう。"), "今日はとても天気がいいので、");
}

TEST(FirstClause, KeepsQuotesWithWhatTheyEnclose) {
  EXPECT_EQ(clause("„Ist das wirklich wahr?“ fragte sie und lachte."), "„Ist das wirklich wahr?“");
  EXPECT_EQ(clause("老师问学生：“你们明天来吗？”"), "老师问学生：");
  EXPECT_EQ(clause("He answered at once:'Nobody has seen it.' Then he left the room."),
            "He answered at once:'Nobody has seen it.'");
  EXPECT_EQ(clause("(This is only an example.) The rest follows below."), "(This is only an example.)");
}

TEST(FirstClause, PassesMarksThatComeTooEarly) {
  EXPECT_EQ(clause("Well, yes, I think that we should leave now, before it gets dark."), "Well, yes,");
  EXPECT_EQ(clause("好的，我们明天早上八点出发，不要迟到。"), "好的，我们明天早上八点出发，");
}

TEST(FirstClause, PassesAbbreviationsAndNumbers) {
  EXPECT_EQ(clause("Yesterday I met Dr. Smith in town. He sends you his best wishes."),
            "Yesterday I met Dr. Smith in town.");
  EXPECT_EQ(clause("The book is by J. R. Miller of London. It has many pages."),
            "The book is by J. R. Miller of London.");
  EXPECT_EQ(clause("It is known in the U.S. as football. We say otherwise."),
            "It is known in the U.S. as football.");
  EXPECT_EQ(clause("It weighs about 12.5 kg or so. Can you carry it?"), "It weighs about 12.5 kg or so.");
  EXPECT_EQ(clause("The bridge cost 1,250,000 marks. That was a lot."), "The bridge cost 1,250,000 marks.");
  EXPECT_EQ(clause("Der Laden schließt am 24. Dezember um zwei, danach ist Ruhe."),
            "Der Laden schließt am 24. Dezember um zwei,");
  EXPECT_EQ(clause("Wir brauchen Brot usw. für das Fest. Bringst du etwas mit?"),
            "Wir brauchen Brot usw. für das Fest.");
  EXPECT_EQ(clause("The train leaves at 12:30 sharp, so be early please."),
            "The train leaves at 12:30 sharp,");
}

TEST(FirstClause, FallsBackToConjunctions) {
  EXPECT_EQ(clause("I stayed at home all day because my sister was ill"), "I stayed at home all day");
  EXPECT_EQ(clause("She opened the old wooden door and looked into the dark room"),
            "She opened the old wooden door");
  EXPECT_EQ(clause("Ich bleibe heute zu Hause weil es den ganzen Tag regnet"), "Ich bleibe heute zu Hause");
  EXPECT_EQ(clause("我今天不想出门因为外面下着很大的雨"), "我今天不想出门");
  // Punctuation is better, though later.
  EXPECT_EQ(clause("I stayed at home all day because it rained, and then I slept for hours."),
            "I stayed at home all day because it rained,");
}

TEST(FirstClause, KeepsTagsWhole) {
  EXPECT_EQ(clause("[dissatisfaction-hnn] no way. I will not go there today."),
            "[dissatisfaction-hnn] no way.");
  EXPECT_EQ(clause("I say that <|strange, token|> is fine. And that was it, more or less."),
            "I say that <|strange, token|> is fine.");
  EXPECT_EQ(clause("That is really funny. [laughter] You got me there."), "That is really funny.");
}

TEST(FirstClause, IsAbsentInShortOrLongRunningText) {
  for (const char* text :
       {"", " ", "Hello.", "Hello world, how are you?", "好的，走吧。", "Nice to meet you. Yes.",
        "Supercalifragilisticexpialidocious antidisestablishmentarianism is unspeakable. Yes it really is "
        "so.",
        "😀😀😀😀😀😀😀😀😀😀", "\xFF\xFE\xFF", "...................................................."}) {
    EXPECT_EQ(first_clause(text), 0u) << text;
  }
}

TEST(FirstClause, IsFoundInAnyBytesInTime) {
  for (const char* unit : {"a", " ", ".", "\u0301", "\xFF", "[", "<|", "。", "😀", "a, ", "\u0640 "}) {
    std::string text;
    while (text.size() < 100'000) text += unit;
    const size_t n_bytes = first_clause(text);
    EXPECT_LE(n_bytes, text.size());
    if (n_bytes > 0) {
      EXPECT_GE(text_weight(text.substr(0, n_bytes)), 8) << unit;
    }
  }
}

}  // namespace
}  // namespace parlance
