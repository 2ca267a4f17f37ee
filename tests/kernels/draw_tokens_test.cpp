// The tokens that devices draw are those that a sampler draws, but for what lies within rounding of another
// one.
#include <bit>

#include "kernels/support/devices.h"
#include "sampling/sampler.h"

namespace parlance::test {
namespace {

class DrawTokens : public KernelTest {
 protected:
  // Of rows of n logits, of which the k highest are told, as samplers of these options will draw.
  static std::vector<int32_t> run(OpBench& bench, const std::vector<float>& x, int64_t n, int64_t k,
                                  const std::vector<TokenDraw>& draws, int64_t n_more = 3) {
    const auto n_rows = std::ssize(x) / n, stride = n_rows + n_more;
    std::vector<int32_t> lists(static_cast<size_t>(stride * kDrawWords), -1);
    for (int64_t row = 0; row < std::ssize(draws); ++row) {
      const auto words = std::bit_cast<std::array<int32_t, kDrawWords>>(draws[static_cast<size_t>(row)]);
      for (int64_t word = 0; word < kDrawWords; ++word)
        lists[static_cast<size_t>(word * stride + row)] = words[static_cast<size_t>(word)];
    }
    const Tensor tx = bench.upload({n, n_rows, 1, 1}, x);
    const Tensor on_device = bench.upload(lists).reshaped(stride, kDrawWords);
    const auto told = bench.run([&](Stream& s) {
      const Tensor highest = k > 0 ? top_logits(s, tx, k) : argmax(s, tx);
      Tensor tokens = s.workspace().allocate(DType::i32, n_rows);
      draw_tokens(s, highest, on_device, tokens);
      tokens.dtype = DType::f32;
      return tokens;
    });
    std::vector<int32_t> tokens;
    for (const float token : told) tokens.push_back(std::bit_cast<int32_t>(token));
    return tokens;
  }
};

// Of more logits than are told: of fewer, the sampler looks at all, in the order of tokens.
TEST_P(DrawTokens, AreThoseOfASampler) {
  OpBench bench = tested();
  std::vector<SamplingOptions> all(9);
  all[1].top_k = 1;
  all[2].top_p = 1;
  all[3].min_p = 0;
  all[4] = {.temperature = 1.6f, .top_p = 1, .min_p = 0};
  all[5] = {.temperature = 0.2f, .top_k = 128, .top_p = 0.999f, .min_p = 0};
  all[6] = {.temperature = 5, .top_k = 33, .top_p = 0.4f, .min_p = 0};
  all[7] = {.temperature = 1, .top_k = 64, .top_p = 1e-6f, .min_p = 0};
  all[8] = {.temperature = 0};
  for (const int64_t n : {129, 1000}) {
    for (const float scale : {0.05f, 1.0f, 8.0f}) {
      SCOPED_TRACE(::testing::Message() << n << " logits up to " << scale);
      constexpr int64_t kRows = 180;
      auto x = random_floats(kRows * n, static_cast<unsigned>(n));
      for (float& value : x) value *= scale;
      std::vector<TokenDraw> draws;
      std::vector<int32_t> expected;
      for (int64_t row = 0; row < kRows; ++row) {
        SamplingOptions options = all[static_cast<size_t>(row) % all.size()];
        options.seed = static_cast<uint64_t>(row);
        Sampler sampler(options);
        for (int64_t i = 0; i < row % 4; ++i)
          (void)sampler.sample(std::span(x).first(static_cast<size_t>(n)));
        ASSERT_TRUE(draws_from_top(options, kMostTopLogits));
        draws.push_back(sampler.next_draw());
        expected.push_back(
            sampler.sample(std::span(x).subspan(static_cast<size_t>(row * n), static_cast<size_t>(n))));
      }
      const auto tokens = run(bench, x, n, kMostTopLogits, draws);
      ASSERT_EQ(tokens.size(), expected.size());
      int n_others = 0;
      for (size_t row = 0; row < tokens.size(); ++row) n_others += tokens[row] != expected[row];
      EXPECT_LE(n_others, 1);
    }
  }
}

// Where only the largest is told, or no number.
TEST_P(DrawTokens, OfWhatIsTold) {
  OpBench bench = tested();
  constexpr int64_t kN = 700;
  auto x = random_floats(kN * 3);
  x[kN + 5] = NAN;
  x[2 * kN + 650] = 9;
  const std::vector<TokenDraw> draws(3, {.temperature = 1, .random = 0});
  const auto largest = std::max_element(x.begin(), x.begin() + kN) - x.begin();
  const std::vector<int32_t> expected{static_cast<int32_t>(largest), 0, 650};
  EXPECT_EQ(run(bench, x, kN, 0, draws), expected);
  EXPECT_EQ(run(bench, x, kN, 40, draws), expected);
}

PARLANCE_FOR_EACH_DEVICE(DrawTokens, &OpTable::draw_tokens);

}  // namespace
}  // namespace parlance::test
