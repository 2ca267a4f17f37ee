#include "tts/maskgit.h"
#include "support/json_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "support/fixtures.h"
#include "support/npy.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;

// [K, T, V] of the files to [T, K, V] of the decoder.
std::vector<float> frames_first(const test::NpyArray& logits) {
  const int64_t n_codebook = logits.shape[0], n_frames = logits.shape[1], n_vocab = logits.shape[2];
  std::vector<float> out;
  for (int64_t t = 0; t < n_frames; ++t) {
    for (int64_t k = 0; k < n_codebook; ++k) {
      const auto row = logits.values.begin() + (k * n_frames + t) * n_vocab;
      out.insert(out.end(), row, row + n_vocab);
    }
  }
  return out;
}

std::vector<int32_t> flat(const nlohmann::json& rows) {
  std::vector<int32_t> out;
  for (const auto& row : rows)
    for (const auto& value : row) out.push_back(value);
  return out;
}

MaskGitOptions options_of(const nlohmann::json& recorded) {
  return {.n_step = recorded["num_step"],
          .guidance = recorded["guidance_scale"],
          .t_shift = recorded["t_shift"],
          .layer_penalty = recorded["layer_penalty"],
          .position_temperature = recorded["position_temperature"],
          .class_temperature = recorded["class_temperature"],
          .seed = std::stoull(recorded["seed"].get<std::string>())};
}

struct RecordedCase {
  std::string name;
  nlohmann::json parameters, result;
  fs::path uncond_logits;
};

// Those whose unconditional row is the program's own, and those where it is the targets alone ("hard").
std::vector<RecordedCase> recorded_cases() {
  const fs::path folder = test::fixtures_root() / "omnivoice/maskgit";
  std::vector<RecordedCase> cases;
  for (const fs::path& path : test::fixture_files("omnivoice/maskgit", ".json")) {
    const std::string name = path.stem();
    const nlohmann::json result = test::read_json(path);
    const std::string parameters = result.value("parameters_as_in", path.filename().string());
    cases.push_back(
        {name, test::read_json(folder / parameters), result, folder / (name + ".logits_step0_uncond.npy")});
  }
  return cases;
}

TEST(MaskGit, TheFirstStepOfRecordedCases) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/maskgit");
  const fs::path folder = test::fixtures_root() / "omnivoice/maskgit";
  int n_cases = 0;
  for (const RecordedCase& recorded : recorded_cases()) {
    const MaskGitOptions options = options_of(recorded.parameters);
    const std::string base = recorded.name.substr(0, recorded.name.find('.'));
    const auto cond = test::read_npy(folder / (base + ".logits_step0_cond.npy"));
    const auto uncond = test::read_npy(recorded.uncond_logits);
    const CodeGridShape shape{cond.shape[0], cond.shape[1], cond.shape[2], 64};
    for (const Isa isa : available_isas()) {
      uint64_t noise_calls = recorded.parameters["ctr_in"];
      MaskGit decoder(options, shape, noise_calls, isa);
      EXPECT_EQ(decoder.n_steps_total(), static_cast<int>(recorded.parameters["active_steps"].size()));
      ASSERT_TRUE(decoder.next());
      const auto result = decoder.take(frames_first(cond),
                                       options.guidance == 0 ? std::vector<float>() : frames_first(uncond));
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(std::vector<int32_t>(decoder.tokens().begin(), decoder.tokens().end()),
                flat(recorded.result["grid_after_active_step"][0]))
          << recorded.name << " " << name_of(isa);
      EXPECT_EQ(decoder.next(), decoder.n_steps_total() > 1);

      const uint64_t ctr_in = recorded.parameters["ctr_in"], ctr_out = recorded.result["ctr_out"];
      EXPECT_EQ((noise_calls - ctr_in) * static_cast<uint64_t>(decoder.n_steps_total()), ctr_out - ctr_in)
          << recorded.name;
    }
    n_cases += 1;
  }
  EXPECT_GT(n_cases, 0) << folder << " has no cases";
}

// The intermediate numbers of the first step: what slots are decided by.
TEST(MaskGit, RecordedLogProbsScoresAndPredictions) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/maskgit");
  const fs::path folder = test::fixtures_root() / "omnivoice/maskgit";
  constexpr std::string_view kEnding = ".log_probs_step0.npy";
  const auto files = test::fixture_files("omnivoice/maskgit", std::string(kEnding));
  ASSERT_FALSE(files.empty()) << folder << " has no file *" << kEnding;
  for (const fs::path& file : files) {
    const std::string whole = file.filename().string(), name = whole.substr(0, whole.size() - kEnding.size());
    SCOPED_TRACE(name);
    const auto parameters = test::read_json(folder / (name + ".json"));
    const auto read = [&](const std::string& what) {
      return test::read_npy(folder / (name + "." + what + ".npy"));
    };
    const auto cond = read("logits_step0_cond"), uncond = read("logits_step0_uncond");
    const auto expected = read("log_probs_step0"), scores = read("scores_step0"), pred = read("pred_step0");
    const std::vector<float> c = cond.as_floats(), u = uncond.as_floats();
    const int64_t n_vocab = cond.shape[2];
    for (const Isa isa : available_isas()) {
      std::vector<float> got(static_cast<size_t>(n_vocab));
      for (int64_t slot = 0; slot < cond.shape[0] * cond.shape[1]; ++slot) {
        const float best = guided_log_probs_of(isa)({.cond = c.data() + slot * n_vocab,
                                                     .uncond = u.data() + slot * n_vocab,
                                                     .guidance = options_of(parameters).guidance,
                                                     .n_vocab = n_vocab,
                                                     .mask_id = 64},
                                                    got.data());
        EXPECT_NEAR(static_cast<double>(best), scores.values[static_cast<size_t>(slot)], 1e-5);
        EXPECT_EQ(std::ranges::find(got, best) - got.begin(),
                  static_cast<int64_t>(pred.values[static_cast<size_t>(slot)]));
        for (int64_t v = 0; v < n_vocab - 1; ++v)
          EXPECT_NEAR(static_cast<double>(got[static_cast<size_t>(v)]),
                      expected.values[static_cast<size_t>(slot * n_vocab + v)], 2e-5);
      }
    }
  }
}

std::vector<float> random_logits(const CodeGridShape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(static_cast<size_t>(shape.n_codebook * shape.n_frames * shape.n_vocab));
  for (float& value : values) value = normal(random);
  return values;
}

// Slot by slot as the definition says it, from a network whose answer depends on the step alone.
TEST(MaskGit, WholeGridsAreFilledAndDecidedSlotsStay) {
  const CodeGridShape shape{.n_codebook = 3, .n_frames = 7, .n_vocab = 33, .mask_id = 32};
  for (const float guidance : {0.0f, 2.0f}) {
    for (const float temperature : {0.0f, 0.8f}) {
      uint64_t noise_calls = 5;
      MaskGit decoder({.n_step = 9, .guidance = guidance, .class_temperature = temperature}, shape,
                      noise_calls);
      std::vector<int32_t> before(21, 32);
      int n_passes = 0;
      while (decoder.next()) {
        const auto cond = random_logits(shape, static_cast<uint32_t>(n_passes));
        const auto uncond = random_logits(shape, static_cast<uint32_t>(100 + n_passes));
        ASSERT_TRUE(decoder.take(cond, guidance == 0 ? std::span<const float>() : uncond));
        n_passes += 1;
        EXPECT_EQ(decoder.n_steps_done(), n_passes);
        for (size_t i = 0; i < before.size(); ++i) {
          if (before[i] != 32) {
            EXPECT_EQ(decoder.tokens()[i], before[i]);
          }
        }
        before.assign(decoder.tokens().begin(), decoder.tokens().end());
      }
      EXPECT_EQ(n_passes, decoder.n_steps_total());
      for (const int32_t token : decoder.tokens()) EXPECT_LT(token, 32);
      const auto n_calls = static_cast<uint64_t>(n_passes) * (temperature > 0 ? 22 : 1);
      EXPECT_EQ(noise_calls, 5 + n_calls);
    }
  }
}

TEST(MaskGit, EqualScoresAndEqualCodesGoToTheLowerIndex) {
  const CodeGridShape shape{.n_codebook = 1, .n_frames = 4, .n_vocab = 5, .mask_id = 0};
  uint64_t noise_calls = 0;
  MaskGit decoder({.n_step = 2, .guidance = 0, .t_shift = 1, .position_temperature = 0}, shape, noise_calls);
  const std::vector<float> logits(20, 1.0f);
  ASSERT_TRUE(decoder.next());
  ASSERT_TRUE(decoder.take(logits, {}));
  EXPECT_EQ(std::vector<int32_t>(decoder.tokens().begin(), decoder.tokens().end()),
            (std::vector<int32_t>{1, 1, 0, 0}));
  EXPECT_EQ(noise_calls, 0u);
}

TEST(MaskGit, LogitsThatAreNoNumbersAreRefused) {
  const CodeGridShape shape{.n_codebook = 2, .n_frames = 3, .n_vocab = 9, .mask_id = 8};
  uint64_t noise_calls = 0;
  MaskGit decoder({.n_step = 2, .guidance = 0}, shape, noise_calls);
  std::vector<float> logits = random_logits(shape, 1);
  logits[2 * 18 + 9 + 4] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(decoder.next());
  const auto result = decoder.take(logits, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("frame 2, codebook 1"), std::string::npos) << result.error().message;
}

TEST(MaskGit, OptionsWithoutMeaningAreRefused) {
  EXPECT_TRUE(check_options({}));
  EXPECT_TRUE(check_options({.guidance = 0, .position_temperature = 0}));
  EXPECT_FALSE(check_options({.n_step = 0}));
  EXPECT_FALSE(check_options({.n_step = 100000}));
  EXPECT_FALSE(check_options({.t_shift = 0}));
  EXPECT_FALSE(check_options({.guidance = std::nanf("")}));
  EXPECT_FALSE(check_options({.position_temperature = -1}));
  EXPECT_FALSE(check_options({.class_temperature = std::numeric_limits<float>::infinity()}));
}

}  // namespace
}  // namespace parlance
