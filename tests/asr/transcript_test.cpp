#include "asr/transcript.h"

#include <algorithm>
#include <random>

#include "support/fixtures.h"
#include "support/json_file.h"
#include "support/processor_time.h"
#include "text/unicode.h"

namespace parlance {
namespace {

std::string repeated(std::string_view text, size_t n) {
  std::string result;
  for (size_t i = 0; i < n; ++i) result += text;
  return result;
}

// The rule of drop_repetitions() word for word, for ASCII: every pattern is compared copy by copy.
std::string drop_repetitions_slowly(const std::string& text) {
  std::string s;
  for (size_t i = 0; i < text.size();) {
    size_t n = 1;
    while (i + n < text.size() && text[i + n] == text[i]) ++n;
    s += n > 20 ? text.substr(i, 1) : text.substr(i, n);
    i += n;
  }
  std::string kept;
  size_t i = 0;
  const auto find_copies = [&](size_t period) {
    size_t n = 1;
    while (s.compare(i + n * period, period, s, i, period) == 0 && i + (n + 1) * period <= s.size()) ++n;
    return n;
  };
  while (i + 40 <= s.size()) {
    size_t period = 1;
    while (period <= 20 && (i + 20 * period > s.size() || find_copies(period) < 20)) ++period;
    if (period > 20) {
      kept += s[i++];
    } else {
      kept += s.substr(i, period);
      i += find_copies(period) * period;
    }
  }
  return kept + s.substr(i);
}

TEST(Transcript, IsReadAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("asr/text_rules.json");
  const auto rules = test::read_json(test::fixtures_root() / "asr/text_rules.json");
  ASSERT_GE(rules.at("parse").size(), 27u);
  for (const auto& row : rules.at("parse")) {
    const std::string forced = row.at("forced").is_null() ? "" : row.at("forced").get<std::string>();
    const Transcript transcript = parse_transcript(row.at("raw").get<std::string>(), forced);
    EXPECT_EQ(transcript.language, row.at("language").get<std::string>()) << row;
    EXPECT_EQ(transcript.text, row.at("text").get<std::string>()) << row;
  }
}

TEST(Transcript, HasOddHeaders) {
  EXPECT_EQ(parse_transcript("x\r\n\u2028 language greek \u2029y<asr_text>ok"), (Transcript{"Greek", "ok"}));
  EXPECT_EQ(parse_transcript("language a\nlanguage b<asr_text>"), (Transcript{"A", ""}));
  EXPECT_EQ(parse_transcript("my language NONE x\nlanguage Thai<asr_text> t "), (Transcript{"", "t"}));
  EXPECT_EQ(parse_transcript("languages English<asr_text>t"), (Transcript{"", "t"}));
  EXPECT_EQ(parse_transcript("<asr_text>"), Transcript());
  EXPECT_EQ(parse_transcript(" \n", "English"), Transcript());
  EXPECT_EQ(parse_transcript("\u3000hi\u00a0", "English"), (Transcript{"English", "hi"}));
}

TEST(Transcript, TakesBytesThatAreNoText) {
  EXPECT_EQ(parse_transcript("language Thai<asr_text>a\xff\xf0\x9f"), (Transcript{"Thai", "a\ufffd\ufffd"}));
  std::mt19937 random(7);
  constexpr std::string_view kPieces[] = {"language ", "None", "<asr_text>", "\n", " ",       "\xe4",
                                          "\xbd\xa0",  "ab",   "\xff",       "A",  "\xc2\x85"};
  for (int run = 0; run < 2000; ++run) {
    std::string raw;
    for (size_t i = 0, n = random() % 60; i < n; ++i) {
      raw += repeated(kPieces[random() % std::size(kPieces)], random() % 40 == 0 ? 25 : 1);
    }
    const Transcript transcript = parse_transcript(raw, random() % 4 == 0 ? "English" : "");
    EXPECT_EQ(find_invalid_utf8(transcript.text), std::string::npos);
    EXPECT_EQ(find_invalid_utf8(transcript.language), std::string::npos);
    EXPECT_EQ(strip(transcript.text), transcript.text);
  }
}

TEST(DropRepetitions, FollowsTheRuleOnRandomTexts) {
  std::mt19937 random(1);
  size_t n_changed = 0;
  for (int run = 0; run < 4000; ++run) {
    std::string text;
    while (text.size() < random() % 900) {
      std::string pattern;
      for (size_t i = 0, n = 1 + random() % 22; i < n; ++i) pattern += static_cast<char>('a' + random() % 3);
      text += repeated(pattern, random() % 3 == 0 ? 17 + random() % 8 : 1);
      text += pattern.substr(0, random() % pattern.size());
    }
    const std::string expected = drop_repetitions_slowly(text);
    ASSERT_EQ(drop_repetitions(text), expected) << text;
    n_changed += expected != text;
  }
  EXPECT_GT(n_changed, 1000u);
}

// A megabyte that makes every pattern almost fit, everywhere; a search from each place would take minutes.
TEST(DropRepetitions, StaysFastOnHostileText) {
  constexpr size_t kBytes = 1 << 20;
  std::string almost;
  while (almost.size() < kBytes) almost += repeated("abcdefghijklmnopqrst", 19) + "!";
  std::string runs;
  while (runs.size() < kBytes) runs += repeated("a", 20) + "b";
  for (const std::string& text : {almost, runs, std::string(kBytes, 'a'), repeated("ab", kBytes / 2),
                                  repeated("language none\n", kBytes / 14), std::string(kBytes, '\xff')}) {
    const double start = test::processor_seconds();
    parse_transcript(text);
    parse_transcript(text + "<asr_text>x");
    EXPECT_LT(test::processor_seconds() - start, 2) << text.substr(0, 40);
  }
}

TEST(MergeTranscripts, JoinsTextsAndLanguages) {
  EXPECT_EQ(merge_transcripts({}), Transcript());
  const Transcript pieces[] = {{"English", "One."}, {"English", ""}, {"", "two"}, {"Thai", "three"}};
  EXPECT_EQ(merge_transcripts(pieces), (Transcript{"English,Thai", "One.twothree"}));
}

TEST(DegenerateTail, IsACircleOfUpToSixTokensFourTimes) {
  EXPECT_FALSE(is_degenerate_tail({}));
  for (int32_t period = 1; period <= 8; ++period) {
    for (int32_t times = 1; times <= 5; ++times) {
      std::vector<int32_t> tokens = {100, 101, 102};
      for (int32_t i = 0; i < period * times; ++i) tokens.push_back(i % period);
      EXPECT_EQ(is_degenerate_tail(tokens), period <= 6 && times >= 4) << period << " x " << times;
      tokens.push_back(200);
      EXPECT_FALSE(is_degenerate_tail(tokens));
    }
  }
}

TEST(CleanSpecialTokens, KeepsTheWordsOnly) {
  EXPECT_EQ(clean_special_tokens("language English<asr_text> Hi.\n"), "Hi.");
  EXPECT_EQ(clean_special_tokens("a<asr_text>b<asr_text>c"), "b<asr_text>c");
  EXPECT_EQ(clean_special_tokens("x <|im_end|> y</s>z"), "x");
  EXPECT_EQ(clean_special_tokens("x</s> y<|im_start|>z"), "x");
  EXPECT_EQ(clean_special_tokens("<|endoftext|>x"), "");
  EXPECT_EQ(clean_special_tokens("x<|audio_pad|>y"), "x<|audio_pad|>y");
  EXPECT_EQ(clean_special_tokens("\v\f\t\u00a0a \r"), "\u00a0a");
  EXPECT_EQ(clean_special_tokens(""), "");
  for (const char* prefix : {"<", " <|", "<|im_", "<|im_start|", "</s", "<|audio_end"}) {
    EXPECT_EQ(clean_special_tokens(prefix), "") << prefix;
  }
  EXPECT_EQ(clean_special_tokens("<x"), "<x");
  EXPECT_EQ(clean_special_tokens("a <"), "a <");
}

}  // namespace
}  // namespace parlance
