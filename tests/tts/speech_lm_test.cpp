#include "tts/speech_lm.h"

#include "support/fixtures.h"
#include "support/npy.h"
#include "support/tested_device.h"
#include "tts/support/maskgit_case.h"

namespace parlance::test {
namespace {

class SpeechLmFixture : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("omnivoice/models");
    device_ = std::move(*make_tested_device({.n_threads = 2, .isa = name_of(GetParam())}));
  }

  void load(const std::string& name, WeightPrecision precision = WeightPrecision::f32) {
    auto file = GgufFile::open(root() / "models" / name);
    ASSERT_TRUE(file) << file.error().message;
    file_.emplace(*std::move(file));
    auto model = OmniVoiceLm::load(*file_, *device_, precision);
    ASSERT_TRUE(model) << model.error().message;
    model_ = *std::move(model);
  }

  static std::filesystem::path root() { return fixtures_root() / "omnivoice"; }

  // Logits as SpeechLm lays them out, for a recorded [K,T,V].
  static double largest_difference(std::span<const float> got, const NpyArray& want) {
    const auto n_codebook = want.shape[0], n_target = want.shape[1], n_vocab = want.shape[2];
    EXPECT_EQ(std::ssize(got), n_codebook * n_target * n_vocab);
    double largest = 0;
    for (int64_t k = 0; k < n_codebook; ++k) {
      for (int64_t t = 0; t < n_target; ++t) {
        for (int64_t v = 0; v < n_vocab; ++v) {
          const float x = got[static_cast<size_t>((t * n_codebook + k) * n_vocab + v)];
          const double y = want.values[static_cast<size_t>((k * n_target + t) * n_vocab + v)];
          largest = std::max(largest, std::fabs(static_cast<double>(x) - y));
        }
      }
    }
    return largest;
  }

  std::optional<GgufFile> file_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<OmniVoiceLm> model_;
};

TEST_P(SpeechLmFixture, LogitsOfTheFirstStep) {
  if (IsSkipped()) return;
  load("lm-tiny-f32.gguf");
  for (const auto& path : fixture_files("omnivoice/maskgit", ".json")) {
    const MaskGitCase c = read_maskgit_case(path);
    SCOPED_TRACE(c.name);
    SpeechLm lm(*model_, *device_);
    const auto prepared = lm.prepare(c.prompt(true));
    ASSERT_TRUE(prepared) << prepared.error().message;
    const std::vector<int32_t> masked(static_cast<size_t>(model_->parameters().n_codebook * c.n_target),
                                      model_->parameters().mask);
    const auto logits = lm.step(masked);
    ASSERT_TRUE(logits) << logits.error().message;
    EXPECT_LE(largest_difference(logits->first(logits->size() / 2), read_npy(c.file("logits_step0_cond"))),
              1e-4);
    EXPECT_LE(
        largest_difference(logits->subspan(logits->size() / 2), read_npy(c.own_file("logits_step0_uncond"))),
        1e-4);
  }
}

// One pass without guidance over text and audio columns. Recorded with each type of weights, and by a float64
// model on what these decode to.
TEST_P(SpeechLmFixture, LogitsOfEveryTypeOfWeights) {
  if (IsSkipped()) return;
  const NpyArray ids = read_npy(root() / "lm/fwd.input_ids.npy"),
                 mask = read_npy(root() / "lm/fwd.audio_mask.npy");
  const int64_t n_codebook = ids.shape[0], n_row = ids.shape[1];
  const auto n_text = std::count(mask.values.begin(), mask.values.end(), 0.0);
  std::vector<int32_t> text, codes;
  for (int64_t i = 0; i < n_text; ++i) {
    ASSERT_EQ(mask.values[static_cast<size_t>(i)], 0) << "text comes first";
    text.push_back(static_cast<int32_t>(ids.values[static_cast<size_t>(i)]));
  }
  for (int64_t k = 0; k < n_codebook; ++k) {
    for (int64_t i = n_text; i < n_row; ++i)
      codes.push_back(static_cast<int32_t>(ids.values[static_cast<size_t>(k * n_row + i)]));
  }
  struct Case {
    const char *type, *suffix;
    WeightPrecision precision;
    double tolerance;
  };
  for (const Case& c : {Case{"f32", "f32", WeightPrecision::as_stored, 1e-4},
                        Case{"bf16", "bf16_float64", WeightPrecision::f32, 1e-4},
                        Case{"q8_0", "q8_0_float64", WeightPrecision::f32, 1e-4},
                        Case{"bf16", "bf16_float64", WeightPrecision::as_stored, 0.1},
                        Case{"q8_0", "q8_0_float64", WeightPrecision::as_stored, 0.3}}) {
    SCOPED_TRACE(std::string(c.type) + (c.precision == WeightPrecision::f32 ? " decoded" : ""));
    load(std::string("lm-tiny-") + c.type + ".gguf", c.precision);
    const auto file = root() / "lm" / (std::string("fwd.logits_") + c.suffix + ".npy");
    const NpyArray all = read_npy(file);  // [S,K,V]
    SpeechLm lm(*model_, *device_);
    const SpeechLmPrompt prompt{
        .text = text, .reference = {}, .n_target = n_row - n_text, .is_guided = false};
    ASSERT_TRUE(lm.prepare(prompt));
    const auto logits = lm.step(codes);
    ASSERT_TRUE(logits) << logits.error().message;
    const auto n_skipped = static_cast<size_t>(n_text * all.shape[1] * all.shape[2]);
    ASSERT_EQ(logits->size(), all.values.size() - n_skipped);
    double largest = 0;
    for (size_t i = 0; i < logits->size(); ++i)
      largest = std::max(largest, std::fabs(static_cast<double>((*logits)[i]) - all.values[n_skipped + i]));
    EXPECT_LE(largest, c.tolerance);
  }
}

TEST_P(SpeechLmFixture, RefusesWhatCannotBe) {
  if (IsSkipped()) return;
  load("lm-tiny-f32.gguf");
  SpeechLm lm(*model_, *device_);
  const std::vector<int32_t> text{1, 2}, beyond{100000}, code{64}, seven(7, 1);
  EXPECT_FALSE(lm.prepare({.text = text, .reference = {}, .n_target = 0}));
  EXPECT_FALSE(lm.prepare({.text = {}, .reference = {}, .n_target = 3}));
  EXPECT_FALSE(lm.prepare({.text = beyond, .reference = {}, .n_target = 3}));
  EXPECT_FALSE(lm.prepare({.text = text, .reference = seven, .n_target = 3}));
  EXPECT_FALSE(lm.prepare({.text = text, .reference = {}, .n_target = 100000}));
  ASSERT_TRUE(lm.prepare({.text = text, .reference = {}, .n_target = 3}));
  EXPECT_FALSE(lm.step(code));
}

INSTANTIATE_TEST_SUITE_P(Isas, SpeechLmFixture, ::testing::ValuesIn(available_isas()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace parlance::test
