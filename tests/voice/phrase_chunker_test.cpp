#include "voice/phrase_chunker.h"

#include "text/unicode.h"

#include <gtest/gtest.h>

#include <random>

namespace parlance {
namespace {

using Texts = std::vector<std::string>;

// The phrases of an answer that comes in such pieces at once.
std::vector<Phrase> phrases_of(const std::vector<std::string>& pieces,
                               PhraseChunker chunker = PhraseChunker()) {
  std::vector<Phrase> phrases;
  for (const std::string& piece : pieces) {
    for (Phrase& phrase : chunker.push(piece, 0)) phrases.push_back(std::move(phrase));
  }
  if (auto phrase = chunker.finish()) phrases.push_back(*std::move(phrase));
  return phrases;
}

Texts texts_of(const std::vector<Phrase>& phrases) {
  Texts texts;
  for (const Phrase& phrase : phrases) texts.push_back(phrase.text);
  return texts;
}

Texts bytewise(const std::string& text) {
  Texts pieces;
  for (size_t at = 0; at < text.size();) {
    size_t n = 1;
    while (at + n < text.size() && (static_cast<unsigned char>(text[at + n]) & 0xC0) == 0x80) ++n;
    pieces.push_back(text.substr(at, n));
    at += n;
  }
  return pieces;
}

struct Case {
  std::string answer;
  Texts phrases;
};

const std::vector<Case> kCases = {
    {"", {}},
    {"   \n ", {}},
    {"...", {}},
    {"Paris.", {"Paris."}},
    {"The capital of France is Paris.", {"The capital of France is Paris."}},
    {"It is Paris. It lies on the Seine. Anything else?",
     {"It is Paris.", "It lies on the Seine.", "Anything else?"}},
    // Short sentences wait for the next one.
    {"Yes. It is blue today.", {"Yes. It is blue today."}},
    {"Hi! I am fine, thank you.", {"Hi! I am fine, thank you."}},
    // The first phrase may be a clause, when enough follows; later ones are sentences.
    {"To make tea, boil some fresh water, and pour it over the leaves.",
     {"To make tea,", "boil some fresh water, and pour it over the leaves."}},
    {"I think it is blue, yes.", {"I think it is blue, yes."}},
    {"That is easy to say. First, you take a pan, then some oil.",
     {"That is easy to say.", "First, you take a pan, then some oil."}},
    // Numbers, abbreviations, addresses.
    {"Pi is 3.14159 or so. That is all.", {"Pi is 3.14159 or so.", "That is all."}},
    {"It costs 1,000,000 dollars in all. Fine.", {"It costs 1,000,000 dollars in all.", "Fine."}},
    {"Please ask Dr. Smith about that. He knows.", {"Please ask Dr. Smith about that.", "He knows."}},
    {"Use fruit, e.g. apples or pears. They are sweet.",
     {"Use fruit,", "e.g. apples or pears.", "They are sweet."}},
    {"Look at www.example.com/a.html for more of it. Good luck.",
     {"Look at www.example.com/a.html for more of it.", "Good luck."}},
    {"The meeting is at 3:40 p.m. on Monday. Bye now.",
     {"The meeting is at 3:40 p.m. on Monday.", "Bye now."}},
    // Marks that close a sentence belong to it.
    {"He said \"It is done.\" Then he left the room.", {"He said \"It is done.\"", "Then he left the room."}},
    {"Really, are you sure?! I am not.", {"Really, are you sure?!", "I am not."}},
    {"Wait for it... There it is.", {"Wait for it...", "There it is."}},
    // Lists.
    {"You need these:\n- two eggs\n- some flour\n", {"You need these:", "- two eggs", "- some flour"}},
    // Other scripts.
    {"今天天气很好。我们去公园吧。", {"今天天气很好。", "我们去公园吧。"}},
};

TEST(PhraseChunker, CutsWhereSentencesAndClausesEnd) {
  for (const Case& c : kCases) {
    EXPECT_EQ(texts_of(phrases_of(bytewise(c.answer))), c.phrases) << c.answer;
  }
}

TEST(PhraseChunker, DoesNotDependOnHowTheTextCame) {
  std::mt19937 random(1);
  for (const Case& c : kCases) {
    for (int i = 0; i < 50; ++i) {
      Texts pieces;
      for (const std::string& letter : bytewise(c.answer)) {
        if (pieces.empty() || random() % 4 == 0) pieces.emplace_back();
        pieces.back() += letter;
      }
      // A first clause is cut as soon as enough is known behind it; sentences end where they end.
      EXPECT_EQ(texts_of(phrases_of(pieces)), c.phrases) << c.answer;
    }
  }
}

TEST(PhraseChunker, PhrasesKnowTheirPieces) {
  const auto phrases = phrases_of({"It is", " Paris. It", " lies there", ", you", " know", "."});
  ASSERT_EQ(phrases.size(), 2u);
  EXPECT_EQ(phrases[0], (Phrase{0, "It is Paris.", 0, 1, PhraseEnd::sentence}));
  EXPECT_EQ(phrases[1], (Phrase{1, "It lies there, you know.", 1, 5, PhraseEnd::last}));
}

TEST(PhraseChunker, NothingIsLostOrSaidTwice) {
  const std::string words[] = {"Yes", ", ", ". ",         "3.5", " blue", " Dr.",
                               "! ",  "\n", " and so on", "…",   " 7"};
  std::mt19937 random(2);
  const auto letters = [](std::string_view text) {
    std::string rest;
    for (const char c : text) {
      if (c != ' ' && c != '\n') rest += c;
    }
    return rest;
  };
  for (int i = 0; i < 2000; ++i) {
    PhraseChunker chunker;
    std::string answer, said;
    double now_ms = 0;
    const auto say = [&](const Phrase& phrase) {
      EXPECT_TRUE(can_be_said(phrase.text));
      said += phrase.text;
    };
    for (int n = 0; n < 30; ++n) {
      const std::string& word = words[random() % std::size(words)];
      answer += word;
      now_ms += static_cast<double>(random() % 300);
      for (const Phrase& phrase : chunker.push(word, now_ms)) say(phrase);
      if (const auto late = chunker.flush_if_late(now_ms + 100)) say(*late);
    }
    if (const auto last = chunker.finish()) say(*last);
    // Pieces without a letter or digit, between phrases, have no sound and may be left out.
    std::string only_sound;
    for (const char c : letters(answer)) only_sound += c;
    const auto without_marks = [](std::string text) {
      std::erase_if(text, [](unsigned char c) { return c < 128 && !std::isalnum(c); });
      for (size_t at; (at = text.find("…")) != std::string::npos;) text.erase(at, 3);
      return text;
    };
    EXPECT_EQ(without_marks(letters(said)), without_marks(only_sound));
  }
}

TEST(PhraseChunker, WaitsNotForeverForAMark) {
  PhraseChunker chunker({.first_wait_ms = 350, .wait_ms = 700});
  EXPECT_TRUE(chunker.push("There is a", 1000).empty());
  EXPECT_FALSE(chunker.flush_if_late(1349));
  EXPECT_TRUE(chunker.push(" long sto", 1349).empty());
  const auto first = chunker.flush_if_late(1350);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->text, "There is a long");  // not half a word
  EXPECT_EQ(first->end, PhraseEnd::time);
  EXPECT_TRUE(chunker.push("ry about that to", 1400).empty());
  EXPECT_FALSE(chunker.flush_if_late(2049));
  const auto second = chunker.flush_if_late(2050);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->text, "story about that");
  EXPECT_EQ(chunker.finish()->text, "to");
}

TEST(PhraseChunker, TimeAloneMakesNoTinyPhrases) {
  PhraseChunker chunker;
  EXPECT_TRUE(chunker.push("So, ", 0).empty());
  EXPECT_FALSE(chunker.flush_if_late(10000));
  PhraseChunker patient({.first_wait_ms = 0});
  EXPECT_TRUE(patient.push("There is a long story ", 0).empty());
  EXPECT_FALSE(patient.flush_if_late(1e6));
}

TEST(PhraseChunker, IsAsNewAfterTheEnd) {
  PhraseChunker chunker;
  chunker.push("It is fine. And", 0);
  EXPECT_EQ(chunker.finish()->id, 1);
  chunker.push("Again it is so", 0);
  EXPECT_EQ(*chunker.finish(), (Phrase{0, "Again it is so", 0, 0, PhraseEnd::last}));
  EXPECT_FALSE(chunker.finish());
}

}  // namespace
}  // namespace parlance
