#include "eval/vad_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "support/fixtures.h"

namespace parlance {
namespace {

// Reads the elements' names; a file whose tags do not close in order, or with a bare & or <, fails the test.
std::vector<std::string> elements_of(const std::string& svg) {
  std::vector<std::string> names, open;
  for (size_t at = 0; at < svg.size();) {
    if (svg[at] == '&') {
      const std::string entity = svg.substr(at, svg.find(';', at) + 1 - at);
      EXPECT_TRUE(entity == "&amp;" || entity == "&lt;" || entity == "&gt;") << entity;
    }
    if (svg[at] != '<') {
      EXPECT_TRUE(!open.empty() || at + 1 == svg.size()) << "text outside the picture";
      ++at;
      continue;
    }
    const size_t end = svg.find('>', at);
    EXPECT_NE(end, std::string::npos);
    if (end == std::string::npos) return names;
    const std::string tag = svg.substr(at + 1, end - at - 1);
    EXPECT_EQ(tag.find('<'), std::string::npos) << tag;
    EXPECT_EQ(std::count(tag.begin(), tag.end(), '\'') % 2, 0) << tag;
    const std::string name = tag.substr(0, tag.find(' '));
    at = end + 1;
    if (name[0] == '/') {
      EXPECT_FALSE(open.empty());
      EXPECT_EQ(open.back(), name.substr(1));
      open.pop_back();
      continue;
    }
    names.push_back(name);
    if (tag.back() != '/') open.push_back(name);
  }
  EXPECT_TRUE(open.empty());
  return names;
}

size_t count(const std::string& text, std::string_view part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

TEST(VadPlot, ShowsWaveformProbabilitiesAndSegments) {
  std::vector<float> samples(48'000);
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] = 0.5f * std::sin(2 * std::numbers::pi_v<float> * 3 * static_cast<float>(i) / 16000);
  }
  const std::vector<float> probabilities(94, 0.75f);
  const SpeechSpan segments[] = {{0.25, 1.0}, {2.0, 3.0}};
  const std::string svg = vad_plot_svg({.title = "a & <b>",
                                        .samples = samples,
                                        .probabilities = probabilities,
                                        .threshold = 0.35,
                                        .segments = segments});
  const auto names = elements_of(svg);
  for (const char* drawn : {"polygon", "polyline", "path"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), drawn), 1) << drawn;
  }
  EXPECT_EQ(count(svg, "a &amp; &lt;b&gt;"), 2u);
  EXPECT_NE(svg.find("threshold 0.35"), std::string::npos);
  EXPECT_NE(svg.find(">0.5</text>"), std::string::npos);  // the peak
  EXPECT_EQ(count(svg, "V324H"), 2u);                     // segments
  for (const char* value : {"nan", "inf", "-0.0"}) EXPECT_EQ(svg.find(value), std::string::npos);
}

TEST(VadPlot, OfNothing) {
  const std::string svg = vad_plot_svg({});
  for (const std::string& name : elements_of(svg)) {
    EXPECT_TRUE(name != "polygon" && name != "polyline" && name != "path") << name;
  }
  const float one = 0.5f;
  elements_of(vad_plot_svg({.samples = {&one, 1}}));
  elements_of(vad_plot_svg({.probabilities = {&one, 1}}));
}

TEST(VadPlot, OfValuesThatAreNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinite = std::numeric_limits<float>::infinity();
  const float values[] = {nan, infinite, -infinite, 1e30f};
  const SpeechSpan segments[] = {{nan, 1}, {-5, 1e9}, {infinite, 2}, {0, 0}};
  const std::string svg =
      vad_plot_svg({.title = "\xff\x01\n", .samples = values, .probabilities = values, .segments = segments});
  elements_of(svg);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf'"), std::string::npos);
}

TEST(VadPlot, OfHoursStaysSmall) {
  const std::vector<float> samples(2 * 3600 * 1000, 0.25f), probabilities(samples.size() / 32, 0.5f);
  std::vector<SpeechSpan> segments;
  for (int i = 0; i < 20'000; ++i) segments.push_back({i * 0.36, i * 0.36 + 0.2});
  const std::string svg = vad_plot_svg({.title = std::string(5000, 'x'),
                                        .samples = samples,
                                        .sample_rate_hz = 1000,
                                        .probabilities = probabilities,
                                        .window_samples = 32,
                                        .segments = segments});
  elements_of(svg);
  EXPECT_LT(svg.size(), 100'000u);
  EXPECT_NE(svg.find(">1:50:00</text>"), std::string::npos);
}

}  // namespace
}  // namespace parlance
