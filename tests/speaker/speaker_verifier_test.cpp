// The speaker verifier against the numbers of its twin in training/speaker, on random weights
// (training/speaker/make_fixture.py writes them).
#include "speaker/speaker_verifier.h"

#include <cmath>
#include <numbers>

#include "base/os/file.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance::test {
namespace {

std::filesystem::path tiny_file() {
  return source_root() / "tests/speaker/tiny.gguf";
}

std::vector<float> wave(size_t n) {
  constexpr double kTurn = 2 * std::numbers::pi;
  std::vector<float> samples;
  for (size_t i = 0; i < n; ++i) {
    const double t = static_cast<double>(i) / 16000;
    samples.push_back(static_cast<float>(0.3 * std::sin(kTurn * (200 * t + 40 * t * t)) +
                                         0.1 * std::sin(kTurn * 1700 * t) * std::sin(kTurn * 3 * t)));
  }
  return samples;
}

TEST(SpeakerVerifier, GivesWhatItsTwinGives) {
  const auto verifier = SpeakerVerifier::load(tiny_file());
  ASSERT_TRUE(verifier) << verifier.error().message;
  EXPECT_DOUBLE_EQ(verifier->parameters().threshold, 0.25);
  const nlohmann::json expected = read_json(source_root() / "tests/speaker/tiny.json")["embeddings"];
  ASSERT_EQ(expected.size(), 2u);
  for (const auto& [length, values] : expected.items()) {
    const std::vector<float> embedding = verifier->embed(wave(std::stoul(length)));
    ASSERT_EQ(embedding.size(), values.size());
    for (size_t i = 0; i < embedding.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(embedding[i]), values[i].get<double>(), 2e-5) << length << " at " << i;
    }
  }
}

TEST(SpeakerVerifier, LikenessDoesNotDependOnTheLevel) {
  const auto verifier = SpeakerVerifier::load(tiny_file());
  ASSERT_TRUE(verifier);
  std::vector<float> samples = wave(16000);
  const std::vector<float> loud = verifier->embed(samples);
  for (float& sample : samples) sample *= 0.125f;
  EXPECT_NEAR(likeness(loud, verifier->embed(samples)), 1, 1e-5);
  EXPECT_NEAR(likeness(loud, loud), 1, 1e-6);
}

TEST(SpeakerVerifier, OneSampleAndSilenceGiveNumbers) {
  const auto verifier = SpeakerVerifier::load(tiny_file());
  ASSERT_TRUE(verifier);
  for (const size_t n : {size_t{1}, size_t{159}, size_t{8001}}) {
    const std::vector<float> silence(n);
    for (const float value : verifier->embed(silence)) EXPECT_TRUE(std::isfinite(value)) << n;
  }
}

TEST(SpeakerVerifier, RefusesFilesOfSomethingElse) {
  const auto bytes = MappedFile::open(tiny_file());
  ASSERT_TRUE(bytes);
  const auto load_changed = [&](std::string_view from, std::string_view to) {
    std::string changed(reinterpret_cast<const char*>(bytes->bytes().data()), bytes->bytes().size());
    changed.replace(changed.find(from), from.size(), to);
    const auto file = GgufFile::parse(std::as_bytes(std::span(changed)), "changed.gguf");
    EXPECT_TRUE(file) << file.error().message;
    const auto loaded = SpeakerVerifier::load(*file);
    return loaded ? std::string() : loaded.error().message;
  };
  EXPECT_NE(load_changed("speaker-verifier", "speaker-verifies").find("expected a speaker verifier"),
            std::string::npos);
  EXPECT_NE(load_changed("stride", "strode").find("stride"), std::string::npos);
  EXPECT_NE(load_changed("norm.1.weight", "norm.1.weighs").find("norm.1.weight [6] is missing"),
            std::string::npos);
  const auto absent = SpeakerVerifier::load(std::filesystem::path("absent.gguf"));
  EXPECT_FALSE(absent);
}

}  // namespace
}  // namespace parlance::test
