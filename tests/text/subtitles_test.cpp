#include "text/subtitles.h"

#include <limits>
#include <random>
#include <sstream>

#include "support/fixtures.h"
#include "text/unicode.h"

namespace parlance {
namespace {

struct ReadCue {
  int64_t start_ms = 0, end_ms = 0;
  std::vector<std::string> lines;
};

int64_t read_time(const std::string& text) {
  int h = 0, m = 0, s = 0, ms = 0;
  EXPECT_EQ(text.size(), 12u) << text;
  EXPECT_EQ(std::sscanf(text.c_str(), "%d:%d:%d,%d", &h, &m, &s, &ms), 4) << text;
  return ((h * 60 + m) * 60 + s) * 1000 + ms;
}

// Reads SubRip strictly: numbers from 1, times, lines, an empty line.
std::vector<ReadCue> read_srt(const std::string& text) {
  std::vector<ReadCue> cues;
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line)) {
    EXPECT_EQ(line, std::to_string(cues.size() + 1));
    std::getline(in, line);
    EXPECT_EQ(line.substr(12, 5), " --> ");
    ReadCue& cue = cues.emplace_back();
    cue.start_ms = read_time(line.substr(0, 12));
    cue.end_ms = read_time(line.substr(17));
    while (std::getline(in, line) && !line.empty()) cue.lines.push_back(line);
  }
  return cues;
}

TEST(Subtitles, HaveTheTwoForms) {
  const Cue cues[] = {{0.5, 2.25, "Hello there."}, {3661.001, 3662, "Tom & <Jerry> --> here"}};
  EXPECT_EQ(srt_text(cues),
            "1\n00:00:00,500 --> 00:00:02,250\nHello there.\n\n"
            "2\n01:01:01,001 --> 01:01:02,000\nTom & <Jerry> → here\n\n");
  EXPECT_EQ(webvtt_text(cues),
            "WEBVTT\n\n"
            "00:00:00.500 --> 00:00:02.250\nHello there.\n\n"
            "01:01:01.001 --> 01:01:02.000\nTom &amp; &lt;Jerry&gt; --&gt; here\n\n");
  EXPECT_EQ(srt_text({}), "");
  EXPECT_EQ(webvtt_text({}), "WEBVTT\n\n");
}

TEST(Subtitles, BreakIntoEvenLines) {
  const Cue cue{0, 1, "And so, my fellow Americans, ask not what your country can do"};
  EXPECT_EQ(read_srt(srt_text({&cue, 1})).at(0).lines,
            (std::vector<std::string>{"And so, my fellow Americans, ask", "not what your country can do"}));
}

TEST(Subtitles, SplitLongCuesByLength) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "abcd ";
  const Cue cue{10, 20, text};
  const auto cues = read_srt(srt_text({&cue, 1}));
  ASSERT_EQ(cues.size(), 3u);
  EXPECT_EQ(cues[0].lines, (std::vector<std::string>(2, "abcd abcd abcd abcd abcd abcd abcd abcd")));
  EXPECT_EQ(cues[0].start_ms, 10'000);
  EXPECT_EQ(cues[0].end_ms, 14'000);
  EXPECT_EQ(cues[1].start_ms, 14'000);
  EXPECT_EQ(cues[1].end_ms, 18'000);
  EXPECT_EQ(cues[2].lines.size(), 1u);
  EXPECT_EQ(cues[2].end_ms, 20'000);
}

TEST(Subtitles, BreakScriptsWithoutSpaces) {
  std::string chinese;
  for (int i = 0; i < 30; ++i) chinese += "你";
  const Cue wide{0, 1, chinese + "。"};
  const auto lines = read_srt(srt_text({&wide, 1})).at(0).lines;
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(count_code_points(lines[0]), 16u);
  EXPECT_TRUE(lines[1].ends_with("你。"));

  const Cue long_word{0, 1, std::string(100, 'x')};
  EXPECT_EQ(read_srt(srt_text({&long_word, 1})).at(0).lines.at(0), std::string(42, 'x'));
  const Cue persian{0, 1, "می\u200cخواهم"};  // the joiner stays inside its word
  EXPECT_EQ(read_srt(srt_text({&persian, 1})).at(0).lines.at(0), persian.text);
  std::string korean = "안녕하세요";
  for (int i = 0; i < 6; ++i) korean += " 안녕하세요";
  const Cue spaced{0, 1, korean};
  EXPECT_EQ(read_srt(srt_text({&spaced, 1})).at(0).lines.at(0), "안녕하세요 안녕하세요 안녕하세요");
}

TEST(Subtitles, TimesRiseWhateverIsGiven) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinite = std::numeric_limits<double>::infinity();
  const Cue cues[] = {{-5, 9, "a"}, {2, 1, "b"}, {2, 4, "c"},     {1, nan, "d"},
                      {3, 3, ""},   {6, 7, " "}, {5, 1e300, "e"}, {infinite, -infinite, "f"}};
  const auto read = read_srt(srt_text(cues));
  ASSERT_EQ(read.size(), 6u);
  const int64_t expected[][2] = {{0, 2000},    {2000, 2001},      {2001, 2002},
                                 {2002, 2003}, {5000, 356400000}, {356400000, 356400001}};
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].start_ms, expected[i][0]) << i;
    if (i + 1 < read.size()) {
      EXPECT_EQ(read[i].end_ms, expected[i][1]) << i;
    }
  }
}

TEST(Subtitles, AreWholeForAnyText) {
  constexpr std::string_view kPieces[] = {
      "word", " ", "\n\n", "-->", "\r", "1", "你", "\xff", "é", "。", "\xf0\x9f\x99\x82", "\xe4", "\x07"};
  std::mt19937 random(2);
  for (int run = 0; run < 500; ++run) {
    std::vector<Cue> cues(random() % 5);
    for (Cue& cue : cues) {
      cue.start_s = static_cast<double>(random() % 100) / 10;
      cue.end_s = static_cast<double>(random() % 100) / 10;
      for (size_t i = 0, n = random() % 100; i < n; ++i) cue.text += kPieces[random() % std::size(kPieces)];
    }
    int64_t before = 0;
    for (const ReadCue& cue : read_srt(srt_text(cues))) {
      ASSERT_GE(cue.start_ms, before);
      ASSERT_GT(cue.end_ms, cue.start_ms);
      before = cue.end_ms;
      ASSERT_TRUE(cue.lines.size() == 1 || cue.lines.size() == 2);
      for (const std::string& line : cue.lines) {
        ASSERT_EQ(find_invalid_utf8(line), std::string::npos);
        ASSERT_EQ(line.find("-->"), std::string::npos);
        ASSERT_LE(count_code_points(line), 42u);
      }
    }
  }
}

}  // namespace
}  // namespace parlance
