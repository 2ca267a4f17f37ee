// Events of the Wyoming protocol in every split of their bytes, and what is none.
#include "wyoming/frames.h"

#include "gtest/gtest.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// All events in the bytes, handed in pieces that end at `cuts`; none: they cannot be read.
std::optional<std::vector<WyomingEvent>> read_in_parts(std::string_view bytes, size_t step) {
  WyomingReader reader;
  std::vector<WyomingEvent> events;
  for (size_t at = 0; at < bytes.size(); at += step) {
    reader.push(bytes.substr(at, step));
    for (;;) {
      auto event = reader.next();
      if (!event) return std::nullopt;
      if (!*event) break;
      events.push_back(**std::move(event));
    }
  }
  if (reader.is_within_event()) return std::nullopt;
  return events;
}

void expect_same(const WyomingEvent& a, const WyomingEvent& b) {
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.data.line(), b.data.line());
  EXPECT_EQ(a.payload, b.payload);
}

TEST(WyomingFrames, AreReadAsRecordedHoweverTheyAreCut) {
  PARLANCE_REQUIRE_FIXTURES("server/wyoming.json");
  const json recorded = test::read_json(test::fixtures_root() / "server/wyoming.json");
  std::string all;
  for (const json& frame : recorded["frames"]) {
    SCOPED_TRACE(frame["what"].get<std::string>());
    const std::string bytes = from_hex(frame["hex"]);
    all += bytes;
    for (size_t step = 1; step <= bytes.size(); ++step) {
      const auto events = read_in_parts(bytes, step);
      ASSERT_TRUE(events && events->size() == 1);
      EXPECT_EQ(events->front().type, frame["type"]);
      EXPECT_EQ(json::parse(events->front().data.line()), frame["data"]);
      EXPECT_EQ(events->front().payload, from_hex(frame["payload"]));
      // What is written is read the same.
      const auto again = read_in_parts(wyoming_bytes(events->front()), step);
      ASSERT_TRUE(again && again->size() == 1);
      expect_same(again->front(), events->front());
    }
  }
  for (size_t step = 1; step <= all.size(); ++step) {
    const auto events = read_in_parts(all, step);
    ASSERT_TRUE(events);
    EXPECT_EQ(events->size(), recorded["frames"].size());
  }
}

TEST(WyomingFrames, RefuseWhatIsRecordedAsBad) {
  PARLANCE_REQUIRE_FIXTURES("server/wyoming.json");
  const json recorded = test::read_json(test::fixtures_root() / "server/wyoming.json");
  for (const json& bad : recorded["bad"]) {
    SCOPED_TRACE(bad["what"].get<std::string>());
    std::string bytes = bad.contains("hex") ? from_hex(bad["hex"]) : "";
    if (bad.contains("repeat")) {
      for (int i = 0; i < bad["times"]; ++i) bytes += from_hex(bad["repeat"]);
    }
    for (const size_t step : {size_t{1}, size_t{7}, bytes.size()}) EXPECT_FALSE(read_in_parts(bytes, step));
  }
}

TEST(WyomingFrames, LimitsHoldToTheByte) {
  const auto line_of = [](size_t n) { return R"({"type":"x","pad":")" + std::string(n - 22, 'p') + "\"}\n"; };
  EXPECT_TRUE(read_in_parts(line_of(WyomingReader::kMostHeadBytes + 1), 4096));
  EXPECT_FALSE(read_in_parts(line_of(WyomingReader::kMostHeadBytes + 2), 4096));
  const auto payload_of = [](size_t n) {
    return R"({"type":"x","payload_length":)" + std::to_string(n) + "}\n" + std::string(n, 'p');
  };
  EXPECT_TRUE(read_in_parts(payload_of(WyomingReader::kMostPayloadBytes), 4096));
  EXPECT_FALSE(read_in_parts(payload_of(WyomingReader::kMostPayloadBytes + 1), 4096));
  const auto nested = [](int depth) {
    const int n = depth - 2;  // the event, and its data
    return R"({"type":"x","data":{"a":)" + std::string(n, '[') + std::string(n, ']') + "}}\n";
  };
  EXPECT_TRUE(read_in_parts(nested(WyomingReader::kMostDepth), 4096));
  EXPECT_FALSE(read_in_parts(nested(WyomingReader::kMostDepth + 1), 4096));
  EXPECT_TRUE(
      read_in_parts("{\"type\":\"x\",\"data\":{\"text\":\"[[[[[[[[[[[[[[[[[[[[[[ \\\" {{{{\"}}\n", 4096));
}

}  // namespace
}  // namespace parlance
