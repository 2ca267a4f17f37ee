// The streaming iterator and the offline segmenter against what the reference makes of the fixtures.
#include <map>
#include <regex>
#include <utility>

#include "support/json_file.h"
#include "vad/speech_segments.h"
#include "vad/support/vad_fixtures.h"
#include "vad/vad_iterator.h"

namespace parlance::test {
namespace {

// What follows `key` in a name of parameters: 300 of "sil" in "t0.6_sil300_pad50".
std::optional<double> parameter(const std::string& name, const std::string& key) {
  std::smatch found;
  if (!std::regex_search(name, found, std::regex("(^|_)" + key + "([0-9.]+)"))) return std::nullopt;
  return std::stod(found[2]);
}

VadIteratorOptions iterator_options(const std::string& name) {
  VadIteratorOptions options;
  options.threshold = parameter(name, "t").value_or(options.threshold);
  options.min_silence_ms = parameter(name, "sil").value_or(options.min_silence_ms);
  options.speech_pad_ms = parameter(name, "pad").value_or(options.speech_pad_ms);
  return options;
}

SegmentOptions segment_options(const std::string& name) {
  SegmentOptions options;
  options.threshold = parameter(name, "t").value_or(options.threshold);
  options.min_silence_ms = parameter(name, "sil").value_or(options.min_silence_ms);
  options.speech_pad_ms = parameter(name, "pad").value_or(options.speech_pad_ms);
  options.min_speech_ms = parameter(name, "min").value_or(options.min_speech_ms);
  options.max_speech_s = parameter(name, "max").value_or(options.max_speech_s);
  options.cuts_at_longest_silence = name.find("legacy") == std::string::npos;
  return options;
}

// The events as the fixtures have them.
nlohmann::json iterate(const VadIteratorOptions& options, std::span<const float> probabilities) {
  VadIterator iterator(options);
  nlohmann::json events = nlohmann::json::array();
  for (size_t i = 0; i < probabilities.size(); ++i) {
    if (const auto event = iterator.next(probabilities[i])) {
      events.push_back({i, {{event->kind == VadEvent::Kind::start ? "start" : "end", event->sample}}});
    }
  }
  return events;
}

nlohmann::json ranges(const std::vector<SpeechSegment>& segments) {
  nlohmann::json list = nlohmann::json::array();
  for (const SpeechSegment& segment : segments) {
    list.push_back({{"start", segment.first_sample}, {"end", segment.end_sample}});
  }
  return list;
}

// Probabilities of the recorded waves, computed once; empty, and a failure of the running test, where wave or
// weights are missing.
class Probabilities {
 public:
  const std::vector<float>& of(const std::string& wave, const std::string& set) {
    const auto [found, is_new] = known_.try_emplace({wave, set});
    if (!is_new) return found->second;
    if (!models_.contains(set)) models_[set] = load_vad(set);
    if (models_[set]) {
      SileroVad vad(models_[set]);
      found->second = vad_probabilities(vad, read_vad_wave(wave));
    }
    return found->second;
  }

 private:
  std::map<std::string, std::shared_ptr<const SileroModel>> models_;
  std::map<std::pair<std::string, std::string>, std::vector<float>> known_;
};

TEST(SpeechEventsTest, AreThoseOfTheReference) {
  PARLANCE_REQUIRE_VAD_FIXTURES();
  PARLANCE_REQUIRE_FIXTURES("vad/events.json");
  const nlohmann::json events = read_json(vad_fixtures() / "events.json");
  Probabilities probabilities;
  int n_compared = 0;
  // Calls compare(samples of the wave, probabilities, name of the parameters, what the reference has).
  const auto compare_all = [&](const char* kind, const auto& compare) {
    const nlohmann::json waves = events.value(kind, nlohmann::json::object());
    for (const auto& [wave, sets] : waves.items()) {
      const std::vector<float> samples = read_vad_wave(wave);
      for (const auto& [set, lists] : sets.items()) {
        const std::vector<float>& windows = probabilities.of(wave, set);
        if (windows.empty()) continue;  // reported
        for (const auto& [name, expected] : lists.items()) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", kind, wave, set, name));
          compare(std::ssize(samples), windows, name, expected);
          ++n_compared;
        }
      }
    }
  };
  compare_all("iterator", [](int64_t n_samples, const std::vector<float>& windows, const std::string& name,
                             const nlohmann::json& expected) {
    const auto n_whole = static_cast<size_t>(n_samples / kSileroWindow);
    EXPECT_EQ(iterate(iterator_options(name), std::span(windows).first(n_whole)), expected);
  });
  compare_all("timestamps", [](int64_t n_samples, const std::vector<float>& windows, const std::string& name,
                               const nlohmann::json& expected) {
    const auto segments = speech_segments(windows, n_samples, segment_options(name));
    EXPECT_EQ(ranges(segments), expected);
    for (const SpeechSegment& segment : segments) {
      EXPECT_GE(segment.max_probability, 0.5f);
      EXPECT_GT(segment.mean_probability, 0.2f);
      EXPECT_LE(segment.mean_probability, segment.max_probability);
    }
  });
  EXPECT_GT(n_compared, 0) << "events.json lists nothing";
}

// Windows written as digits: 9 is a probability of 0.9.
std::vector<float> windows(const std::string& digits) {
  std::vector<float> probabilities;
  for (const char digit : digits) probabilities.push_back(static_cast<float>(digit - '0') / 10);
  return probabilities;
}

TEST(VadIteratorTest, BetweenTheThresholdsNothingChanges) {
  // 0.4 neither starts speech nor, once silence has begun, takes it back.
  EXPECT_EQ(iterate({}, windows("4449444")), nlohmann::json({{3, {{"start", 3 * 512 - 480}}}}));
  const nlohmann::json ended = {{0, {{"start", 0}}}, {5, {{"end", 512 + 480}}}};
  EXPECT_EQ(iterate({}, windows("914441")), ended);
  EXPECT_EQ(iterate({}, windows("9111911")), nlohmann::json({{0, {{"start", 0}}}}));
}

TEST(VadIteratorTest, AfterResetItIsAsNew) {
  VadIterator iterator;
  for (int i = 0; i < 10; ++i) iterator.next(0.1f);
  EXPECT_EQ(iterator.next(0.9f)->sample, 10 * 512 - 480);
  iterator.reset();
  EXPECT_EQ(iterator.next(0.9f), (VadEvent{VadEvent::Kind::start, 0}));
}

TEST(SpeechSegmentsTest, NeighboursShareTheGap) {
  // Four windows of silence end a segment at 100 ms; pads of 200 ms would overlap in it.
  SegmentOptions options{.min_speech_ms = 0, .speech_pad_ms = 200};
  const auto segments = speech_segments(windows("999999111119999999"), 18 * 512, options);
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].first_sample, 0);
  EXPECT_EQ(segments[0].end_sample, 6 * 512 + 5 * 256);
  EXPECT_EQ(segments[1].first_sample, segments[0].end_sample);
  EXPECT_EQ(segments[1].end_sample, 18 * 512);
}

TEST(SpeechSegmentsTest, SpeechHasToBeLongerThanTheLeast) {
  const SegmentOptions options{.min_speech_ms = 64, .speech_pad_ms = 0};
  EXPECT_TRUE(speech_segments(windows("99111111"), 8 * 512, options).empty());
  EXPECT_EQ(speech_segments(windows("999111111"), 9 * 512, options).size(), 1u);
  EXPECT_TRUE(speech_segments(windows("11199"), 5 * 512, options).empty());
  EXPECT_EQ(speech_segments(windows("11999"), 5 * 512, options).size(), 1u);
  EXPECT_TRUE(speech_segments({}, 0, options).empty());
}

TEST(SpeechSegmentsTest, WithoutASilenceLongSpeechIsCutWhereItIsTooLong) {
  const SegmentOptions options{.min_speech_ms = 0, .max_speech_s = 0.32, .speech_pad_ms = 0};
  const auto segments = speech_segments(windows(std::string(30, '9')), 30 * 512, options);
  ASSERT_EQ(segments.size(), 3u);  // of ten windows each: more than 5120 - 512 samples
  EXPECT_EQ(segments[0].end_sample, 10 * 512);
  EXPECT_EQ(segments[1].first_sample, 11 * 512);  // the window of the cut belongs to no segment
  EXPECT_FLOAT_EQ(segments[0].mean_probability, 0.9f);
}

}  // namespace
}  // namespace parlance::test
