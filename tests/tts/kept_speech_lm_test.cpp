#include "tts/kept_speech_lm.h"

#include "support/fixtures.h"
#include "support/tested_device.h"
#include "tts/guided_log_probs.h"
#include "tts/speech_lm.h"
#include "tts/support/maskgit_case.h"

namespace parlance::test {
namespace {

class KeptSpeechLmTest : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("omnivoice/models");
    device_ = std::move(*make_tested_device({.n_threads = 2, .isa = name_of(GetParam())}));
    auto file = GgufFile::open(fixtures_root() / "omnivoice/models/lm-tiny-f32.gguf");
    ASSERT_TRUE(file) << file.error().message;
    file_.emplace(*std::move(file));
    auto model = OmniVoiceLm::load(*file_, *device_, WeightPrecision::f32);
    ASSERT_TRUE(model) << model.error().message;
    model_ = *std::move(model);
    for (int32_t i = 0; i < 9; ++i) text_.push_back(3 + 7 * i);
    for (int64_t i = 0; i < hp().n_codebook * kReference; ++i)
      reference_.push_back(static_cast<int32_t>(i * 13 % hp().mask));
    set_target(kTarget);
  }

  void set_target(int64_t n_frames) {
    n_target_ = n_frames;
    codes_.assign(static_cast<size_t>(hp().n_codebook * n_frames), hp().mask);
    for (size_t i = 0; i < codes_.size(); i += 5) codes_[i] = static_cast<int32_t>(i % 11);
  }

  const OmniVoiceParameters& hp() const { return model_->parameters(); }
  KeptPrompt prompt(bool is_guided = true) const {
    return {.text = text_, .reference = reference_, .n_target = n_target_, .is_guided = is_guided};
  }
  std::vector<CodeSlot> slots_of(int64_t first, int64_t end) const {
    std::vector<CodeSlot> slots;
    for (int64_t k = 0; k < hp().n_codebook; ++k) {
      for (int64_t t = first; t < end; t += 1 + k % 2) slots.push_back({k, t});
    }
    return slots;
  }

  // How far the logits of the last pass are from those of a pass over everything.
  double distance(const KeptSpeechLm& kept, std::span<const CodeSlot> slots, bool is_guided = true) const {
    SpeechLm whole(*model_, *device_);
    EXPECT_TRUE(whole.prepare(
        {.text = text_, .reference = reference_, .n_target = n_target_, .is_guided = is_guided}));
    const auto logits = whole.step(codes_);
    EXPECT_TRUE(logits);
    const auto n_vocab = static_cast<size_t>(hp().n_audio_vocab);
    double largest = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      const size_t row = static_cast<size_t>(slots[i].frame * hp().n_codebook + slots[i].codebook) * n_vocab;
      for (size_t v = 0; v < n_vocab; ++v) {
        const auto differs = [&](float got, float want) {
          largest = std::max(largest, std::fabs(static_cast<double>(got) - static_cast<double>(want)));
        };
        differs(kept.conditional(i)[v], (*logits)[row + v]);
        if (is_guided && kept.unconditional(i))
          differs(kept.unconditional(i)[v], (*logits)[logits->size() / 2 + row + v]);
      }
    }
    return largest;
  }

  static constexpr int64_t kReference = 5, kTarget = 21;
  int64_t n_target_ = 0;
  std::unique_ptr<Device> device_;
  std::optional<GgufFile> file_;
  std::unique_ptr<OmniVoiceLm> model_;
  std::vector<int32_t> text_, reference_, codes_;
};

TEST_P(KeptSpeechLmTest, APassOverAllColumnsIsThatOfTheWholeModel) {
  if (IsSkipped()) return;
  KeptSpeechLm kept(*model_, *device_, KvFormat::f32);
  for (const bool is_guided : {true, false}) {
    ASSERT_TRUE(kept.prepare(prompt(is_guided)));
    const auto slots = slots_of(2, 19);
    const auto ran = kept.run({.takes_prompt = true, .first = 0, .end = kTarget}, codes_, slots);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_LE(distance(kept, slots, is_guided), 1e-4);
    EXPECT_EQ(kept.unconditional(0) != nullptr, is_guided);
    EXPECT_EQ(kept.n_columns(), 9 + kReference + (is_guided ? 2 : 1) * kTarget);
  }
}

// So many that products take the ways that devices have for hundreds of rows, each head's alone.
TEST_P(KeptSpeechLmTest, HundredsOfColumnsAreThoseOfTheWholeModel) {
  if (IsSkipped()) return;
  KeptSpeechLm kept(*model_, *device_, KvFormat::f32);
  for (const int64_t n_frames : {70, 150, 300}) {
    set_target(n_frames);
    ASSERT_TRUE(kept.prepare(prompt()));
    const auto slots = slots_of(0, n_frames);
    ASSERT_TRUE(kept.run({.takes_prompt = true, .first = 0, .end = n_frames}, codes_, slots));
    EXPECT_LE(distance(kept, slots), 1e-4) << n_frames;
  }
}

// Nothing has changed since, so that what is kept is what would be computed.
TEST_P(KeptSpeechLmTest, SomeColumnsAgainstKeptOnesGiveTheSame) {
  if (IsSkipped()) return;
  KeptSpeechLm kept(*model_, *device_, KvFormat::f32);
  ASSERT_TRUE(kept.prepare(prompt()));
  ASSERT_TRUE(kept.run({.takes_prompt = true, .first = 0, .end = kTarget}, codes_, slots_of(0, 1)));
  for (const KeptPass& pass : {KeptPass{false, 4, 9, true}, KeptPass{false, 20, 21, true},
                               KeptPass{true, 0, 3, true}, KeptPass{false, 0, kTarget, false}}) {
    const int64_t before = kept.n_columns();
    const auto slots = slots_of(pass.first, pass.end);
    const auto ran = kept.run(pass, codes_, slots);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_LE(distance(kept, slots), 1e-4) << pass.first;
    EXPECT_EQ(kept.unconditional(0) != nullptr, pass.takes_unconditional);
    EXPECT_EQ(kept.n_columns() - before, (pass.takes_prompt ? 9 + kReference : 0) +
                                             (pass.takes_unconditional ? 2 : 1) * (pass.end - pass.first));
  }
}

// Where all is mask, one unconditional column stands for all: its logits are everybody's, and its keys and
// values serve in every place, as passes over some columns see.
TEST_P(KeptSpeechLmTest, OneUnconditionalColumnIsAllWhereAllIsMask) {
  if (IsSkipped()) return;
  KeptSpeechLm kept(*model_, *device_, KvFormat::f32);
  for (const int64_t n_frames : {1, 21, 70, 300}) {
    set_target(n_frames);
    std::ranges::fill(codes_, hp().mask);
    ASSERT_TRUE(kept.prepare(prompt()));
    const auto slots = slots_of(0, n_frames);
    ASSERT_TRUE(kept.run({.takes_prompt = true, .first = 0, .end = n_frames}, codes_, slots));
    EXPECT_EQ(kept.n_columns(), 9 + kReference + n_frames + (kept.has_one_unconditional() ? 1 : n_frames));
    EXPECT_LE(distance(kept, slots), 1e-4) << n_frames;
    for (int64_t first = 0; first < n_frames; first += 20) {
      const auto some = slots_of(first, std::min(first + 3, n_frames));
      ASSERT_TRUE(kept.run({.first = first, .end = std::min(first + 3, n_frames)}, codes_, some));
      EXPECT_LE(distance(kept, some), 1e-4) << first << " of " << n_frames;
    }
  }
}

// Of frames that are far, the middle one of each group is computed and no other; keys and values are written
// in every place, so that nothing is seen of what was there before.
TEST_P(KeptSpeechLmTest, OfFarFramesOneIsComputedForAll) {
  if (IsSkipped()) return;
  KeptSpeechLm kept(*model_, *device_, KvFormat::f32);
  const auto slots = slots_of(0, 6);
  const auto logits_of = [&](const KeptPass& pass) {
    EXPECT_TRUE(kept.prepare(prompt()));
    const auto ran = kept.run(pass, codes_, slots);
    EXPECT_TRUE(ran) << ran.error().message;
    std::vector<float> logits;
    for (size_t i = 0; i < slots.size(); ++i)
      logits.insert(logits.end(), kept.conditional(i), kept.conditional(i) + hp().n_audio_vocab);
    return logits;
  };
  for (int64_t n_together = 1; n_together <= 7; ++n_together) {
    for (int64_t first_far = 6; first_far <= kTarget + 1; ++first_far) {
      const KeptPass pass{
          .takes_prompt = true, .end = kTarget, .first_far = first_far, .far_frames = n_together};
      std::ranges::fill(codes_, 5);
      logits_of({.takes_prompt = true, .end = kTarget});
      set_target(kTarget);
      const std::vector<float> before = logits_of(pass);
      const int64_t n_far = std::max<int64_t>(kTarget - first_far, 0);
      EXPECT_EQ(kept.n_columns(),
                9 + kReference + 2 * kTarget - n_far + (n_far + n_together - 1) / n_together);
      if (n_together == 1 || n_far == 0) {
        EXPECT_LE(distance(kept, slots), 1e-4);
      }
      std::vector<int64_t> computed, others;
      for (int64_t t = first_far; t < kTarget; t += n_together) {
        const int64_t n = std::min(n_together, kTarget - t);
        for (int64_t i = 0; i < n; ++i) (i == (n - 1) / 2 ? computed : others).push_back(t + i);
      }
      const auto change = [&](const std::vector<int64_t>& frames) {
        for (const int64_t t : frames) codes_[static_cast<size_t>(kTarget + t)] = 9;
      };
      std::ranges::fill(codes_, 3);
      logits_of({.takes_prompt = true, .end = kTarget});
      set_target(kTarget);
      change(others);
      EXPECT_EQ(logits_of(pass), before) << n_together << " from " << first_far;
      change(computed);
      if (n_far > 0) {
        EXPECT_NE(logits_of(pass), before) << n_together << " from " << first_far;
      }
    }
  }
}

// Codes that changed in columns which a pass does not take are not seen by it; taken, they are.
TEST_P(KeptSpeechLmTest, WhatIsNotTakenStaysAsItWas) {
  if (IsSkipped()) return;
  KeptSpeechLm kept(*model_, *device_, KvFormat::f32);
  ASSERT_TRUE(kept.prepare(prompt()));
  const auto slots = slots_of(10, 15);
  ASSERT_TRUE(kept.run({.takes_prompt = true, .first = 0, .end = kTarget}, codes_, slots));
  for (int64_t k = 0; k < hp().n_codebook; ++k) codes_[static_cast<size_t>(k * kTarget + 3)] = 7;
  ASSERT_TRUE(kept.run({.first = 10, .end = 15}, codes_, slots));
  EXPECT_GT(distance(kept, slots), 1e-3);
  ASSERT_TRUE(kept.run({.takes_prompt = true, .first = 0, .end = kTarget}, codes_, slots));
  EXPECT_LE(distance(kept, slots), 1e-4);
}

TEST_P(KeptSpeechLmTest, HalfPrecisionIsNear) {
  if (IsSkipped()) return;
  KeptSpeechLm kept(*model_, *device_);
  ASSERT_TRUE(kept.prepare(prompt()));
  const auto slots = slots_of(0, kTarget);
  ASSERT_TRUE(kept.run({.takes_prompt = true, .first = 0, .end = kTarget}, codes_, slots));
  const double first = distance(kept, slots);
  EXPECT_LE(first, 2e-2);
  EXPECT_GT(first, 0);
}

// A prompt after a longer one, and the other way round.
TEST_P(KeptSpeechLmTest, PromptsFollowEachOther) {
  if (IsSkipped()) return;
  KeptSpeechLm kept(*model_, *device_, KvFormat::f32);
  const auto slots = slots_of(0, kTarget);
  const std::vector<int32_t> longer(300, 4);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(kept.prepare(prompt()));
    ASSERT_TRUE(kept.run({.takes_prompt = true, .first = 0, .end = kTarget}, codes_, slots));
    EXPECT_LE(distance(kept, slots), 1e-4);
    ASSERT_TRUE(kept.prepare({.text = longer, .reference = reference_, .n_target = kTarget}));
    ASSERT_TRUE(kept.run({.takes_prompt = true, .first = 0, .end = kTarget}, codes_, slots));
  }
}

TEST_P(KeptSpeechLmTest, RefusesWhatTheModelDoesNotKnow) {
  if (IsSkipped()) return;
  KeptSpeechLm kept(*model_, *device_);
  EXPECT_FALSE(kept.prepare({.text = {}, .reference = {}, .n_target = 3}));
  const std::vector<int32_t> wrong{static_cast<int32_t>(hp().n_text_vocab)};
  EXPECT_FALSE(kept.prepare({.text = wrong, .reference = {}, .n_target = 3}));
  EXPECT_FALSE(kept.prepare({.text = text_, .reference = {}, .n_target = 0}));
}

// Codes that a pass decides are as likely, by the logits of the same pass, as those that are likeliest there.
TEST_P(KeptSpeechLmTest, DecidesByTheLogitsOfThePass) {
  if (IsSkipped()) return;
  KeptSpeechLm told(*model_, *device_), deciding(*model_, *device_);
  if (!deciding.decides()) GTEST_SKIP() << "the device does not decide blocks";
  const auto n_vocab = static_cast<size_t>(hp().n_audio_vocab);
  std::vector<float> log_probs(n_vocab), kept_rows;
  for (const bool is_guided : {true, false}) {
    ASSERT_TRUE(told.prepare(prompt(is_guided)));
    ASSERT_TRUE(deciding.prepare(prompt(is_guided)));
    int n_different = 0, n_all = 0;
    // Everything; then some columns, thrice each, so that passes are recorded and replayed.
    std::vector<KeptPass> passes{{true, 0, kTarget, true}, {true, 0, kTarget, true, 16, 3}};
    for (int i = 0; i < 3; ++i) {
      passes.push_back({false, 4, 15, true});
      passes.push_back({false, 4, 15, false});
      passes.push_back({false, 2, 15, true});
      passes.push_back({true, 0, 15, true});
    }
    for (size_t i = 0; i < passes.size(); ++i) {
      const KeptPass& pass = passes[i];
      set_target(kTarget);
      codes_[2] = static_cast<int32_t>(i % 7);  // of a frame before the block
      if (i == 1) std::ranges::fill(codes_, hp().mask);
      const KeptBlock block{.first = 4, .end = 15, .keeps_guidance = true};
      const int64_t n_block = block.end - block.first;
      std::vector<CodeSlot> slots;
      for (int64_t k = 0; k < hp().n_codebook; ++k) {
        for (int64_t t = block.first; t < block.end; ++t) slots.push_back({k, t});
      }
      ASSERT_TRUE(told.run(pass, codes_, slots));
      BlockMove move{.step = {.n_chosen = static_cast<int32_t>(slots.size()),
                              .fault = std::numeric_limits<int32_t>::max(),
                              .seed = 1,
                              .class_calls = 0,
                              .position_call = 0,
                              .guidance = is_guided ? 2.0f : 0.0f,
                              .layer_penalty = 0,
                              .position_temperature = 0,
                              .class_temperature = 0},
                     .first_frame = 4,
                     .n_frames = kTarget,
                     .marginal = 0,
                     .confidence = 1};
      const auto decided = deciding.decide(pass, codes_, block, move);
      ASSERT_TRUE(decided) << decided.error().message;
      EXPECT_EQ(told.n_columns(), deciding.n_columns());
      if (is_guided && pass.takes_unconditional) {
        kept_rows.clear();
        for (size_t slot = 0; slot < slots.size(); ++slot)
          kept_rows.insert(kept_rows.end(), told.unconditional(slot), told.unconditional(slot) + n_vocab);
      }
      for (size_t slot = 0; slot < slots.size(); ++slot) {
        const auto [codebook, frame] = slots[slot];
        const int32_t code = (*decided)[static_cast<size_t>(codebook * n_block + frame - block.first)];
        const int32_t before = codes_[static_cast<size_t>(codebook * kTarget + frame)];
        if (before != hp().mask) {
          EXPECT_EQ(code, before) << "decided before";
          continue;
        }
        const float best = guided_log_probs_of(Isa::scalar)(
            {.cond = told.conditional(slot),
             .uncond = is_guided ? kept_rows.data() + slot * n_vocab : nullptr,
             .guidance = move.step.guidance,
             .n_vocab = hp().n_audio_vocab,
             .mask_id = hp().mask},
            log_probs.data());
        ASSERT_TRUE(code >= 0 && code < hp().n_audio_vocab && code != hp().mask) << code;
        EXPECT_GE(log_probs[static_cast<size_t>(code)], best - 0.05f) << "pass " << i << " slot " << slot;
        n_different += log_probs[static_cast<size_t>(code)] != best;
        ++n_all;
      }
    }
    EXPECT_LE(n_different, n_all / 20);
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, KeptSpeechLmTest, ::testing::ValuesIn(available_isas()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace parlance::test
