#include "voice/turn_end.h"

#include <gtest/gtest.h>

#include <vector>

namespace parlance {
namespace {

TEST(TurnEnd, TheSilenceOfEverySign) {
  struct Row {
    TurnEndSigns signs;
    double ms;
  };
  const std::vector<Row> rows = {
      {{.probability = 1.0}, 120},
      {{.probability = 0.95, .final_level = 0.8}, 120 + 780 * 0.1},
      {{.probability = 0.8, .final_level = 0.8}, 120 + 780 * 0.4},
      {{.probability = 0.8, .final_level = 0}, 120 + 780 * 2 / 6.0},
      {{.probability = 0.8, .final_level = 9}, 120 + 780 * 2 / 4.0},
      {{.probability = 0.8, .is_stable = false, .final_level = 0.8}, 120 + 780 * 2 / 3.0},
      {{.probability = 0.5, .final_level = 0.8}, 900},
      {{.probability = 0.0}, 900},
      {{.probability = 0.0, .final_level = 0}, 900},
      {{.probability = -1.0}, 900},
      {{.probability = 2.0}, 120},
      {{.probability = 1.0, .is_stable = false, .final_level = 9}, 120},
      // The model's word counts, not the mark.
      {{.probability = 0.0, .has_mark = true}, 900},
      {{.has_mark = true, .final_level = 0.8}, 120 + 780 * 0.4},
      {{.final_level = 0.8}, 900},
      {{.probability = 1.0, .is_reply = true}, 180},
      {{.probability = 0.0, .is_reply = true}, 1350},
  };
  for (const Row& row : rows) {
    EXPECT_NEAR(end_silence_ms(row.signs), row.ms, 1e-9)
        << row.signs.probability.value_or(-1) << ", level " << row.signs.final_level;
  }
}

TEST(TurnEnd, IsNeverShorterForLessLikelyEnds) {
  for (const double level : {0.0, 0.7, 1.0, 3.0}) {
    for (const bool is_stable : {false, true}) {
      double before = 0;
      for (int i = 100; i >= 0; --i) {
        const double ms =
            end_silence_ms({.probability = i / 100.0, .is_stable = is_stable, .final_level = level});
        EXPECT_GE(ms, before);
        EXPECT_GE(ms, 120);
        EXPECT_LE(ms, 900);
        before = ms;
      }
    }
  }
}

TEST(TurnEnd, EagernessOfTheRealtimeProtocol) {
  EXPECT_EQ(semantic_silence_ms(0, Eagerness::low), 8000);
  EXPECT_EQ(semantic_silence_ms(0, Eagerness::medium), 4000);
  EXPECT_EQ(semantic_silence_ms(0, Eagerness::high), 2000);
  EXPECT_EQ(semantic_silence_ms(0.5, Eagerness::medium), 250 + 3750 * 0.25);
  EXPECT_EQ(semantic_silence_ms(0.9, Eagerness::low), 250);
  EXPECT_EQ(semantic_silence_ms(1, Eagerness::high), 250);
  EXPECT_EQ(semantic_silence_ms(-3, Eagerness::high), 2000);
}

TEST(TurnEnd, KnowsMarksThatEndSentences) {
  EXPECT_TRUE(ends_sentence("What is it? "));
  EXPECT_TRUE(ends_sentence("\u305d\u3046\u3067\u3059\u3002"));
  EXPECT_FALSE(ends_sentence("Well,"));
  EXPECT_FALSE(ends_sentence(""));
  EXPECT_EQ(without_end_marks(" What? ... "), "What");
  EXPECT_EQ(without_end_marks("3.5"), "3.5");
  EXPECT_EQ(without_end_marks(" ?!"), "");
}

}  // namespace
}  // namespace parlance
