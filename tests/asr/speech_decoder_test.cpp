// The final text is the one that greedy decoding without a draft gives, whatever an earlier preview has said.
#include "asr/speech_decoder.h"

#include <tuple>

#include "asr/support/fixture_clips.h"
#include "support/tested_device.h"

namespace parlance::test {
namespace {

constexpr int64_t kMostTokens = 40;  // more than are verified beside a prompt

// A bundle, and whether its weights are widened: rows of f16 weights are not alike everywhere.
class SpeechDecoderTest : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("asr/manifest.json");
    device_ = std::move(*make_tested_device({.n_threads = 2}));
    const auto& [bundle, is_widened] = GetParam();
    const auto precision = is_widened ? WeightPrecision::f32 : WeightPrecision::as_stored;
    model_ = load_asr(bundle, *device_, {.huge_pages = false, .precision = precision});
    encoder_ = *SpeechEncoder::create(model_->encoder(), *device_, kReferenceAsr);
  }

  SpeechDecoder make_decoder(bool drafts_beside_prompts) const {
    SessionOptions options{.n_ctx = 1024, .n_batch = 96};
    options.n_outputs = static_cast<int64_t>(kDraftTokens) + 1;
    options.takes_embeddings = true;
    options.batches_as_alone = true;
    options.drafts_beside_prompts = drafts_beside_prompts;
    return {*Session::create(model_->text(), options),
            *make_asr_prompt(model_->text().tokenizer(), "", "English")};
  }

  static void decode(SpeechDecoder& decoder, const AudioRows& rows, bool is_final,
                     const std::vector<Token>* script = nullptr) {
    const DecodeLimits limits{.max_tokens = kMostTokens, .max_new_tokens = kMostTokens, .script = script};
    const auto done = decoder.decode(rows, limits, is_final);
    ASSERT_TRUE(done) << done.error().message;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<AsrModel> model_;
  std::unique_ptr<SpeechEncoder> encoder_;
};

TEST_P(SpeechDecoderTest, DraftsOfAnyLengthRightAndWrongAtEveryPlace) {
  for (const double seconds : {1.3, 3.7}) {  // few rows, and more than a batch
    AudioRows rows(*encoder_, kReferenceAsr);
    rows.push(fixture_speech(asr_manifest(), seconds));
    ASSERT_TRUE(rows.refresh(RowsKind::exact));
    SpeechDecoder plain = make_decoder(false);
    decode(plain, rows, true);
    const std::vector<Token> want = plain.answer();
    ASSERT_GT(want.size(), 5u);
    SpeechDecoder decoder = make_decoder(true);
    EXPECT_GT(decoder.session().most_beside_prompt(), 30);
    const auto expect_unmoved_by = [&](const std::vector<Token>& draft) {
      decode(decoder, rows, false, &draft);
      ASSERT_EQ(decoder.answer(), draft);
      decode(decoder, rows, true);
      EXPECT_EQ(decoder.answer(), want);
    };
    for (size_t i = 0; i < want.size(); ++i) {
      SCOPED_TRACE(testing::Message() << seconds << " s, " << i);
      expect_unmoved_by({want.begin(), want.begin() + static_cast<std::ptrdiff_t>(i)});
      auto wrong = want;
      wrong[i] = wrong[i] == 300 ? 301 : 300;
      expect_unmoved_by(wrong);
    }
    expect_unmoved_by(want);
  }
}

INSTANTIATE_TEST_SUITE_P(Bundles, SpeechDecoderTest,
                         ::testing::Combine(::testing::ValuesIn(asr_bundles()), ::testing::Bool()),
                         [](const auto& param) {
                           return std::get<0>(param.param) + (std::get<1>(param.param) ? "F32" : "");
                         });

}  // namespace
}  // namespace parlance::test
