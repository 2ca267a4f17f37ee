// The network and the decoder together: recorded grids of codes, step by step.
#include "support/json_file.h"
#include "support/tested_device.h"
#include "tts/maskgit.h"
#include "tts/support/maskgit_case.h"

namespace parlance::test {
namespace {

class MaskGitGrid : public ::testing::TestWithParam<Isa> {};

// (n_codebook, n_frames) as one row.
std::vector<int32_t> flat(const nlohmann::json& rows) {
  std::vector<int32_t> out;
  for (const auto& row : rows)
    for (const auto& value : row) out.push_back(value);
  return out;
}

// Every choice of every case is further from the next best one than f32 passes differ, on any instruction
// set.
TEST_P(MaskGitGrid, EveryStepOfEveryCase) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/models");
  const auto device = std::move(*make_tested_device({.n_threads = 2, .isa = name_of(GetParam())}));
  const auto file = GgufFile::open(fixtures_root() / "omnivoice/models/lm-tiny-f32.gguf");
  ASSERT_TRUE(file) << file.error().message;
  const auto model = OmniVoiceLm::load(*file, *device);
  ASSERT_TRUE(model) << model.error().message;
  const OmniVoiceParameters& hp = (*model)->parameters();

  for (const auto& path : fixture_files("omnivoice/maskgit", ".json")) {
    const MaskGitCase c = read_maskgit_case(path);
    SCOPED_TRACE(c.name);
    const MaskGitOptions options{.n_step = c.parameters["num_step"],
                                 .guidance = c.parameters["guidance_scale"],
                                 .t_shift = c.parameters["t_shift"],
                                 .layer_penalty = c.parameters["layer_penalty"],
                                 .position_temperature = c.parameters["position_temperature"],
                                 .class_temperature = c.parameters["class_temperature"],
                                 .seed = std::stoull(c.parameters["seed"].get<std::string>())};
    const bool is_guided = options.guidance != 0;
    SpeechLm lm(**model, *device);
    const auto prepared = lm.prepare(c.prompt(is_guided));
    ASSERT_TRUE(prepared) << prepared.error().message;

    uint64_t noise_calls = c.parameters["ctr_in"];
    MaskGit decoder(options,
                    {.n_codebook = hp.n_codebook,
                     .n_frames = c.n_target,
                     .n_vocab = hp.n_audio_vocab,
                     .mask_id = hp.mask},
                    noise_calls);
    const auto& grids = c.recorded["grid_after_active_step"];
    size_t n_steps = 0;
    std::vector<int32_t> tokens;
    while (decoder.next()) {
      if (lm.decides()) {
        const auto advanced = lm.advance(decoder.hand_over());
        ASSERT_TRUE(advanced) << advanced.error().message;
        tokens = *lm.codes();
      } else {
        const auto logits = lm.step(decoder.tokens());
        ASSERT_TRUE(logits) << logits.error().message;
        const size_t n_row = is_guided ? logits->size() / 2 : logits->size();
        ASSERT_TRUE(decoder.take(logits->first(n_row), logits->subspan(n_row)));
        tokens.assign(decoder.tokens().begin(), decoder.tokens().end());
      }
      ASSERT_LT(n_steps, grids.size());
      ASSERT_EQ(tokens, flat(grids[n_steps])) << "step " << n_steps;
      ++n_steps;
    }
    EXPECT_EQ(n_steps, grids.size());
    EXPECT_EQ(noise_calls, c.recorded["ctr_out"].get<uint64_t>());
    EXPECT_EQ(tokens, flat(c.recorded["tokens"]));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, MaskGitGrid, ::testing::ValuesIn(available_isas()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace parlance::test
