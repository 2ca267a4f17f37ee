// Models whose weights are damaged so that logits are not numbers: an error that names the model and the
// step, whoever computes, and never a token.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "engine/generate.h"
#include "kernels/vulkan/vulkan_device.h"
#include "support/damaged_gguf.h"
#include "support/temporary_folder.h"
#include "support/tested_device.h"
#include "support/text_model.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

class NotANumber : public testing::Test {
 protected:
  static constexpr Token kBad = 65, kGood = 66;

  void SetUp() override { test::write_tiny_model(folder_ / "plain.gguf", {.n_layer = 2}); }

  // The tiny model with one row of a tensor replaced.
  void load_with(const char* tensor, int64_t row, float value,
                 Result<std::unique_ptr<Device>> device = test::make_tested_device()) {
    test::damage_gguf(folder_ / "plain.gguf", folder_ / "damaged.gguf", tensor, row, value);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    loaded_.model.reset();  // before the device that has its memory
    loaded_ = test::load_text_model(folder_ / "damaged.gguf", std::move(device));
    ASSERT_TRUE(loaded_.model);
  }
  std::unique_ptr<Session> open(KvFormat cache = KvFormat::f16) const {
    return test::make_session(
        *loaded_.model,
        {.n_ctx = 256, .n_batch = 16, .cache = {.k = {.format = cache}, .v = {.format = cache}}});
  }
  static void expect_named(const Error& error, int64_t n_tokens) {
    EXPECT_EQ(error.code, ErrorCode::corrupt_file);
    EXPECT_NE(error.message.find("damaged.gguf"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find(fmt::format("token {} is not a number", n_tokens)), std::string::npos)
        << error.message;
  }

  test::TemporaryFolder folder_;
  test::LoadedModel loaded_;
};

TEST_F(NotANumber, AnywhereInAModelIsAnError) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max()}) {
    for (const char* tensor :
         {"blk.0.attn_v.weight", "blk.1.ffn_down.weight", "blk.1.attn_norm.weight", "output_norm.weight"}) {
      SCOPED_TRACE(fmt::format("{} in {}", value, tensor));
      ASSERT_NO_FATAL_FAILURE(load_with(tensor, 0, value));
      const auto logits = open()->set_prompt(std::vector<Token>(20, kGood));
      if (logits) {  // the largest number may be divided down again: then every logit is one
        EXPECT_EQ(value, std::numeric_limits<float>::max());
        EXPECT_TRUE(std::ranges::all_of(*logits, [](float logit) { return std::isfinite(logit); }));
      } else {
        expect_named(logits.error(), 20);
      }
    }
  }
}

// However keys and values are kept, and whether they come to be read by rows of their own step or of later
// ones.
TEST_F(NotANumber, InKeysAndValuesOfAnyFormatIsAnError) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const char* tensor : {"blk.0.attn_k.weight", "blk.0.attn_v.weight"}) {
      ASSERT_NO_FATAL_FAILURE(load_with(tensor, 5, value));
      for (size_t id = 0; id < kKvFormatCount; ++id) {
        const auto format = static_cast<KvFormat>(id);
        if (traits(format).block_elements > 32) continue;  // than a head has
        SCOPED_TRACE(fmt::format("{} in {}, cache {}", value, tensor, name_of(format)));
        const auto logits = open(format)->set_prompt(std::vector<Token>(20, kGood));
        EXPECT_FALSE(logits);
        if (!logits) expect_named(logits.error(), 20);
      }
    }
  }
}

// In blocks whose largest magnitude is found by comparing.
TEST_F(NotANumber, OnVulkanIsAnError) {
  auto device = make_vulkan_device(0);
  if (!device) GTEST_SKIP() << device.error().message;
  ASSERT_NO_FATAL_FAILURE(
      load_with("blk.0.attn_v.weight", 5, std::numeric_limits<float>::quiet_NaN(), std::move(device)));
  const auto logits = open(KvFormat::q4_0)->set_prompt(std::vector<Token>(20, kGood));
  ASSERT_FALSE(logits);
  expect_named(logits.error(), 20);
}

TEST_F(NotANumber, TheStepIsTheOneThatYieldedIt) {
  ASSERT_NO_FATAL_FAILURE(load_with("token_embd.weight", kBad, std::numeric_limits<float>::quiet_NaN()));
  // The output's weights are the embeddings: one logit is bad, whatever the tokens are.
  const auto tied = open()->set_prompt(std::vector<Token>{kGood, kGood, kGood});
  ASSERT_FALSE(tied);
  expect_named(tied.error(), 3);
}

TEST_F(NotANumber, NoAnswerIsMadeOfIt) {
  ASSERT_NO_FATAL_FAILURE(load_with("blk.1.ffn_gate.weight", 3, std::numeric_limits<float>::quiet_NaN()));
  std::string said;
  GenerateOptions options;
  options.max_tokens = 5;
  const auto answer = generate(*open(), std::vector<Token>(10, kGood), options,
                               [&](std::string_view piece) { said += piece; });
  ASSERT_FALSE(answer);
  expect_named(answer.error(), 10);
  EXPECT_EQ(said, "");
  const auto embedded = open()->embed(std::vector<Token>(10, kGood));
  ASSERT_FALSE(embedded) << "embeddings are of the same numbers";
  expect_named(embedded.error(), 10);
}

// A row in place of an embedding that is not a number ends what asked for it; what was there stays, and the
// others' answers are as they would be without it.
TEST_F(NotANumber, OthersGoOn) {
  ASSERT_NO_FATAL_FAILURE(load_with("output_norm.weight", 0, 1));
  const auto first =
      test::make_session(*loaded_.model, {.n_ctx = 256, .n_batch = 16, .n_seq = 2, .takes_embeddings = true});
  const auto second = Session::create(first->shared_context());
  ASSERT_TRUE(second);
  const std::vector<Token> good(40, kGood), next{kGood};
  const auto want = (*second)->set_prompt(good);
  ASSERT_TRUE(want) << want.error().message;
  const std::vector<float> expected(want->begin(), want->end());

  ASSERT_TRUE(first->set_prompt(good));
  const std::vector<float> row(static_cast<size_t>(loaded_.model->hyper_parameters().n_embd),
                               std::numeric_limits<float>::quiet_NaN());
  const auto failed = first->append(std::vector<Token>{kEmbedded}, 1, {.rows = row});
  ASSERT_FALSE(failed);
  expect_named(failed.error(), 41);
  EXPECT_EQ(first->tokens(), good);

  const auto again = (*second)->set_prompt(good);
  ASSERT_TRUE(again) << again.error().message;
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR((*again)[i], expected[i], 1e-3f) << i;
  const auto beside = (*second)->append(next), after = first->append(next);
  ASSERT_TRUE(beside && after);
  for (size_t i = 0; i < beside->size(); ++i) ASSERT_NEAR((*after)[i], (*beside)[i], 1e-3f) << i;
}

}  // namespace
}  // namespace parlance
