#include "asr/aligner.h"

#include <random>

#include "asr/support/fixture_clips.h"
#include "gguf/writer.h"
#include "kernels/cpu/cpu_device.h"
#include "support/temporary_folder.h"

namespace parlance::test {
namespace {

constexpr int64_t kClasses = 60;

// An aligner of the fixtures' tiny recogniser: a token of its vocabulary becomes <timestamp>, and a
// classifier whose weights are `classifier` [n_embd, kClasses] takes the place of its output.
AsrFiles write_aligner(const std::filesystem::path& folder, const std::vector<float>& classifier) {
  const auto source = fixtures_root() / "asr/bundle-tiny/asr";
  AsrFiles files{folder / "tiny-aligner.gguf", folder / "tiny-aligner-mmproj.gguf"};
  std::filesystem::copy_file(source / "eliza-1-asr-mmproj.gguf", files.encoder);
  const auto file = *GgufFile::open(source / "eliza-1-asr.gguf");
  GgufWriter writer;
  for (const auto& [key, value] : file.metadata()) writer.copy(key, value);
  std::vector<std::string> tokens;
  auto known = **file.find_strings("tokenizer.ggml.tokens");
  while (known.size() > 0) tokens.emplace_back(known.next());
  tokens[381] = "<timestamp>";  // <|audio_pad|>, which is not used
  writer.set_strings("tokenizer.ggml.tokens", tokens);
  for (const GgufTensor& tensor : file.tensors()) writer.add_tensor(tensor.name, tensor.dtype, tensor.ne);
  const int64_t n_embd = static_cast<int64_t>(classifier.size()) / kClasses;
  writer.add_tensor("output.weight", DType::f32, std::vector<int64_t>{n_embd, kClasses});
  EXPECT_TRUE(writer.begin(files.text));
  for (const GgufTensor& tensor : file.tensors()) EXPECT_TRUE(writer.write_tensor(tensor.bytes));
  EXPECT_TRUE(writer.write_tensor(std::as_bytes(std::span(classifier))));
  EXPECT_TRUE(writer.finish());
  return files;
}

class AlignerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("asr/manifest.json");
    samples_ = fixture_wave(asr_manifest(), "asr_espeak");  // 4.7 s: classes up to 58
  }

  TemporaryFolder folder_;
  std::unique_ptr<Device> device_ = std::move(*make_cpu_device({.n_threads = 2}));
  std::vector<float> samples_;
};

// Where one class always wins, all times are equal, hence in order: the words come out with that time.
TEST_F(AlignerTest, WordsHaveTheTimesOfTheirClasses) {
  std::vector<float> zeros(64 * kClasses, 0.0f);
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

// Random classes contradict each other: no times are better than made-up ones.
TEST_F(AlignerTest, RefusesTimesThatContradictEachOther) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> classifier(64 * kClasses);
  for (float& weight : classifier) weight = normal(random);
  const auto aligner = Aligner::load(write_aligner(folder_.path(), classifier), *device_);
  ASSERT_TRUE(aligner) << aligner.error().message;
  const auto words =
      (*aligner)->align(samples_, "a quick brown fox jumps over the lazy dog and away it goes", "");
  ASSERT_FALSE(words);
  EXPECT_NE(words.error().message.find("contradict"), std::string::npos) << words.error().message;
}

TEST_F(AlignerTest, IsNoRecogniserAndARecogniserIsNoAligner) {
  const auto files = write_aligner(folder_.path(), std::vector<float>(64 * kClasses, 0.0f));
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
