#include "asr/aligner.h"

#include <random>

#include "asr/support/fixture_clips.h"
#include "asr/support/tiny_aligner.h"
#include "support/temporary_folder.h"
#include "support/tested_device.h"

namespace parlance::test {
namespace {

class AlignerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("asr/manifest.json");
    samples_ = fixture_speech(asr_manifest(), 4.7);  // classes up to 58
  }

  TemporaryFolder folder_;
  std::unique_ptr<Device> device_ = std::move(*make_tested_device({.n_threads = 2}));
  std::vector<float> samples_;
};

// Where one class always wins, all times are equal, hence in order: the words come out with that time.
TEST_F(AlignerTest, WordsHaveTheTimesOfTheirClasses) {
  std::vector<float> zeros(64 * kAlignerClasses, 0.0f);
  const auto files = write_aligner(folder_.path(), zeros);
  const auto found = find_aligner(folder_.path());
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->text, files.text);
  const auto aligner = Aligner::load(**found, *device_);
  ASSERT_TRUE(aligner) << aligner.error().message;
  const auto words = (*aligner)->align(samples_, "It's 3 o'clock, really!", "English");
  ASSERT_TRUE(words) << words.error().message;
  ASSERT_EQ(words->size(), 4u);
  EXPECT_EQ(words->front().word, "It's");
  EXPECT_EQ(words->back().word, "really");
  for (const TimedWord& word : *words) EXPECT_EQ(word.start_seconds + word.end_seconds, 0);
  EXPECT_TRUE((*aligner)->align(samples_, " ... ", "English")->empty());
}

// A classifier that chooses between class 20 and 40 by the sign of a product, and one with the signs the
// other way round: a word's times are 1.6 s or 3.2 s, and where one falls, the other rises.
TEST_F(AlignerTest, ClassesAreEightyMillisecondsApart) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> direction(64);
  for (float& weight : direction) weight = normal(random);
  int n_timed = 0;
  for (const float sign : {1.0f, -1.0f}) {
    std::vector<float> classifier(64 * kAlignerClasses, 0.0f);
    for (size_t i = 0; i < direction.size(); ++i) {
      classifier[20 * 64 + i] = sign * direction[i];
      classifier[40 * 64 + i] = -sign * direction[i];
    }
    const TemporaryFolder own;
    const auto aligner = Aligner::load(write_aligner(own.path(), classifier), *device_);
    ASSERT_TRUE(aligner) << aligner.error().message;
    const auto words = (*aligner)->align(samples_, "Hello", "English");
    if (!words) continue;  // from 3.2 s to 1.6 s
    ++n_timed;
    ASSERT_EQ(words->size(), 1u);
    for (const double seconds : {words->front().start_seconds, words->front().end_seconds})
      EXPECT_TRUE(seconds == 1.6 || seconds == 3.2) << seconds;
    EXPECT_LE(words->front().start_seconds, words->front().end_seconds);
  }
  EXPECT_GE(n_timed, 1);
}

// Random classes contradict each other: no times are better than made-up ones.
TEST_F(AlignerTest, RefusesTimesThatContradictEachOther) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> classifier(64 * kAlignerClasses);
  for (float& weight : classifier) weight = normal(random);
  const auto aligner = Aligner::load(write_aligner(folder_.path(), classifier), *device_);
  ASSERT_TRUE(aligner) << aligner.error().message;
  const auto words =
      (*aligner)->align(samples_, "a quick brown fox jumps over the lazy dog and away it goes", "");
  ASSERT_FALSE(words);
  EXPECT_NE(words.error().message.find("contradict"), std::string::npos) << words.error().message;
}

TEST_F(AlignerTest, IsNoRecogniserAndARecogniserIsNoAligner) {
  const auto files = write_aligner(folder_.path(), std::vector<float>(64 * kAlignerClasses, 0.0f));
  const auto recogniser = AsrModel::load(files, *device_);
  ASSERT_FALSE(recogniser);
  EXPECT_NE(recogniser.error().message.find("60 classes"), std::string::npos) << recogniser.error().message;
  const auto bundle = fixtures_root() / "asr/bundle-tiny";
  EXPECT_FALSE(*find_aligner(bundle));
  const auto aligner = Aligner::load(*find_asr(bundle), *device_);
  ASSERT_FALSE(aligner);
  EXPECT_NE(aligner.error().message.find("<timestamp>"), std::string::npos) << aligner.error().message;
}

}  // namespace
}  // namespace parlance::test
