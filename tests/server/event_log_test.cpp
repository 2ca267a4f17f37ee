// Events as lines: both formats, what must be quoted, and what comes in crowds.
#include "server/event_log.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace parlance {
namespace {

using nlohmann::json;

struct Lines {
  std::vector<std::string> all;
  EventLog::Write write() {
    return [this](std::string_view line) { all.emplace_back(line); };
  }
};

const LogFields kFields = {
    {"id", "req_1"}, {"words", "two \"words\"\n"}, {"n", int64_t{-3}}, {"ms", 1.25}, {"cut", true},
    {"none", ""},    {"odd", "a=b\x7f\xff"}};

TEST(EventLog, QuotesWhatIsNotPlain) {
  Lines lines;
  EventLog log(LogFormat::text, LogLevel::info, lines.write());
  log.write(LogLevel::debug, "unseen", {});
  log.write(LogLevel::warning, "request", kFields);
  ASSERT_EQ(lines.all.size(), 1u);
  const std::string& line = lines.all[0];
  EXPECT_EQ(line[line.find(' ') - 1], 'Z');
  EXPECT_NE(line.find("Z level=warning event=request id=req_1 words=\"two \\\"words\\\"\\n\" n=-3 ms=1.2 "
                      "cut=true none=\"\""),
            std::string::npos)
      << line;
  for (const char c : line) EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ') << line;
}

TEST(EventLog, OfProgramsIsJson) {
  Lines lines;
  EventLog log(LogFormat::json, LogLevel::info, lines.write());
  log.write(LogLevel::info, "request", kFields);
  const json line = json::parse(lines.all.at(0));
  EXPECT_EQ(line["event"], "request");
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["words"], "two \"words\"\n");
  EXPECT_EQ(line["n"], -3);
  EXPECT_EQ(line["cut"], true);
  EXPECT_EQ(line["time"].get<std::string>().size(), 24u);
}

TEST(EventLog, LinesHaveAnEnd) {
  for (const LogFormat format : {LogFormat::text, LogFormat::json}) {
    Lines lines;
    EventLog log(format, LogLevel::info, lines.write());
    log.write(LogLevel::info, "request", {{"a", "b"}, {"long", std::string(5000, 'x')}});
    EXPECT_LE(lines.all.at(0).size(), EventLog::kMostLineBytes);
    EXPECT_NE(lines.all[0].find('b'), std::string::npos);
  }
}

TEST(EventLog, OfWhatComesInCrowdsOneIsWritten) {
  Lines lines;
  EventLog log(LogFormat::json, LogLevel::info, lines.write());
  for (int i = 0; i < 50; ++i) {
    log.write_seldom(LogLevel::info, "refused", {{"status", int64_t{400}}});
    log.write_seldom(LogLevel::info, "refused", {{"status", int64_t{i < 25 ? 408 : 413}}});
  }
  EXPECT_LT(lines.all.size(), 8u);
  EXPECT_GE(lines.all.size(), 3u);
  EXPECT_EQ(json::parse(lines.all[0])["count"], 1);
}

}  // namespace
}  // namespace parlance
