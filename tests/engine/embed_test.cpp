// Embeddings of texts, pooled as the model's file says.
#include <algorithm>

#include "base/parameter.h"
#include "engine/embedding_request.h"
#include "engine/session.h"
#include "models/pooling.h"
#include "support/gguf_copy.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

class EmbedTexts : public testing::Test {
 protected:
  void SetUp() override { test::write_tiny_model(folder_ / "plain.gguf", {.n_layer = 2}); }

  void load(Pooling pooling) {
    loaded_ = {};
    const auto copied = test::copy_gguf(
        folder_ / "plain.gguf", folder_ / "pooled.gguf",
        [&](GgufWriter& writer) { writer.set_u32("qwen3.pooling_type", static_cast<uint32_t>(pooling)); });
    ASSERT_TRUE(copied) << copied.error().message;
    loaded_ = test::load_text_model(folder_ / "pooled.gguf", {.n_threads = 2});
    ASSERT_TRUE(loaded_.model);
  }
  std::unique_ptr<Session> open(int64_t n_outputs = 64) const {
    return test::make_session(*loaded_.model,
                              {.n_ctx = 256,
                               .n_batch = 256,
                               .cache = {.k = {.format = KvFormat::f32}, .v = {.format = KvFormat::f32}},
                               .n_outputs = n_outputs});
  }
  static std::vector<Token> text(int n) {
    std::vector<Token> tokens;
    for (int i = 0; i < n; ++i) tokens.push_back((31 * i + 7) % 256);
    return tokens;
  }
  static void expect_near(const std::vector<float>& got, const std::vector<float>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4f) << i;
  }

  test::TemporaryFolder folder_;
  test::LoadedModel loaded_;
};

// The last row of every beginning of a text, which is what its tokens yield in a causal model.
TEST_F(EmbedTexts, ArePooledFromTheRowsOfTheirTokens) {
  constexpr int kTokens = 10;
  ASSERT_NO_FATAL_FAILURE(load(Pooling::last));
  std::vector<float> rows;
  for (int n = 1; n <= kTokens; ++n) {
    const auto row = open()->embed(text(n));
    ASSERT_TRUE(row) << row.error().message;
    rows.insert(rows.end(), row->begin(), row->end());
  }
  for (const Pooling pooling : {Pooling::none, Pooling::mean, Pooling::first, Pooling::last}) {
    ASSERT_NO_FATAL_FAILURE(load(pooling));
    const auto embedded = open()->embed(text(kTokens));
    ASSERT_TRUE(embedded) << embedded.error().message;
    expect_near(*embedded, pooled(pooling, rows, loaded_.model->hyper_parameters().n_embd));
  }
}

// What the context remembers of a text must not be left out of its mean.
TEST_F(EmbedTexts, OfAKnownTextAreTheSame) {
  for (const Pooling pooling : {Pooling::mean, Pooling::first, Pooling::last}) {
    ASSERT_NO_FATAL_FAILURE(load(pooling));
    const auto session = open(256);
    const auto first = session->embed(text(150));
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_TRUE(session->embed(text(20)));
    for (int round = 0; round < 2; ++round) {
      const auto again = session->embed(text(150));
      ASSERT_TRUE(again) << again.error().message;
      expect_near(*again, *first);
    }
  }
}

// More than there are sequences, some of which begin alike, and rows in several steps.
TEST_F(EmbedTexts, OfManyTextsAtOnceAreThoseOfEach) {
  for (const Pooling pooling : {Pooling::mean, Pooling::last}) {
    ASSERT_NO_FATAL_FAILURE(load(pooling));
    std::vector<std::vector<float>> alone;
    for (int n = 1; n <= 40; n += 3) {
      const auto one = open(64)->embed(text(n));
      ASSERT_TRUE(one) << one.error().message;
      alone.push_back(*one);
    }
    const auto session = test::make_session(
        *loaded_.model, {.n_ctx = 256,
                         .n_batch = 32,
                         .cache = {.k = {.format = KvFormat::f32}, .v = {.format = KvFormat::f32}},
                         .n_seq = 4,
                         .n_outputs = 16});
    for (int round = 0; round < 2; ++round) {  // the second time, beginnings are known
      std::atomic<int> n_ended{0};
      std::vector<std::unique_ptr<EmbeddingRequest>> requests;
      for (int n = 1; n <= 40; n += 3) {
        auto request = EmbeddingRequest::start(session->shared_context(), text(n), {}, [&] { ++n_ended; });
        ASSERT_TRUE(request) << request.error().message;
        requests.push_back(*std::move(request));
      }
      session->context().scheduler().wait([&] { return n_ended == std::ssize(requests); });
      for (size_t i = 0; i < requests.size(); ++i) {
        ASSERT_TRUE(requests[i]->has_ended());
        const auto together = requests[i]->result();
        ASSERT_TRUE(together) << together.error().message;
        expect_near(*together, alone[i]);
      }
    }
  }
}

TEST_F(EmbedTexts, NobodyWantsAreCancelled) {
  ASSERT_NO_FATAL_FAILURE(load(Pooling::last));
  const auto session = open();
  const CancellationSource source;
  source.cancel();
  Work work;
  work.cancellation = source.ticket();
  std::atomic<int> n_ended{0};
  auto request = EmbeddingRequest::start(session->shared_context(), text(9), work, [&] { ++n_ended; });
  ASSERT_TRUE(request);
  source.cancel();
  session->context().scheduler().wait([&] { return n_ended == 1; });
  // It may have been done before.
  if (const auto result = (*request)->result(); !result) {
    EXPECT_EQ(result.error().code, ErrorCode::cancelled);
  }
  EXPECT_FALSE(EmbeddingRequest::start(session->shared_context(), {}, {}, [] {}));
}

TEST_F(EmbedTexts, NeedRoomForTheirRows) {
  ASSERT_NO_FATAL_FAILURE(load(Pooling::mean));
  const auto session = open(16);
  EXPECT_TRUE(session->embed(text(16)));
  const auto longer = session->embed(text(17));
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(session->embed({})) << "nothing has no meaning";
}

TEST_F(EmbedTexts, AModelThatRanksHasNone) {
  ASSERT_NO_FATAL_FAILURE(load(Pooling::rank));
  const auto ranked = open()->embed(text(5));
  ASSERT_FALSE(ranked);
  EXPECT_EQ(ranked.error().code, ErrorCode::unsupported);
  EXPECT_NE(ranked.error().message.find("pooled.gguf"), std::string::npos) << ranked.error().message;
}

}  // namespace
}  // namespace parlance
