#include <cstring>

#include "kernels/support/kv_pages.h"

namespace parlance::test {
namespace {

class GatedDeltaNet : public KernelTest {
 protected:
  void SetUp() override {
    if (may_skip(tested().device().ops().gated_delta_net))
      GTEST_SKIP() << "the device has no gated_delta_net";
  }

  struct Case {
    int64_t head_dim = 32;
    int64_t n_key_head = 2;
    int64_t n_value_head = 2;
    TokenPlaces places;
    float gate_limit = 3;  // of alpha and beta before their activations
    float a_limit = 2;     // -a
    float input_limit = 1;
  };

  // Both devices advance the same state by the same tokens: outputs and states agree, and states of sequences
  // outside of the batch stay.
  void expect_match(const Case& c) {
    const int64_t n = c.head_dim, n_tokens = c.places.size();
    const int64_t n_seq = 1 + *std::max_element(c.places.seq.begin(), c.places.seq.end());
    const int64_t n_rows = (2 * c.n_key_head + c.n_value_head) * n;
    const auto qkv = random_floats(n_rows * n_tokens, c.input_limit);
    const auto alpha = random_floats(c.n_value_head * n_tokens, c.gate_limit);
    const auto beta = random_floats(c.n_value_head * n_tokens, c.gate_limit);
    auto a = random_floats(c.n_value_head, c.a_limit);
    for (float& x : a) x = -std::fabs(x);
    const auto dt_bias = random_floats(c.n_value_head);
    const auto state = random_floats(n * n * c.n_value_head * n_seq);

    const auto on = [&](OpBench bench) {
      const Tensor tqkv = bench.upload({n_rows, n_tokens, 1, 1}, qkv);
      const DeltaNetGates gates{.alpha = bench.upload({c.n_value_head, n_tokens, 1, 1}, alpha),
                                .beta = bench.upload({c.n_value_head, n_tokens, 1, 1}, beta),
                                .a = bench.upload({c.n_value_head, 1, 1, 1}, a),
                                .dt_bias = bench.upload({c.n_value_head, 1, 1, 1}, dt_bias)};
      const Tensor tstate = bench.upload({n, n, c.n_value_head, n_seq}, state);
      const BatchView batch = c.places.on(bench);
      const auto out =
          bench.run([&](Stream& s) { return gated_delta_net(s, tqkv, gates, {tstate}, batch, 1e-6f); });
      return std::pair{out, bench.download(tstate)};
    };
    SCOPED_TRACE(testing::Message() << c.n_key_head << "/" << c.n_value_head << " heads of " << n << ", "
                                    << n_tokens << " tokens, gates " << c.gate_limit << " " << c.a_limit);
    const auto got = on(tested()), want = on(reference());
    expect_near(got.first, want.first);
    expect_near(got.second, want.second);
  }

  static TokenPlaces tokens(int32_t n, int32_t first = 5) { return TokenPlaces().add(0, first, n); }

 private:
  // Within a small part of the typical element: sums of large terms may be small.
  static void expect_near(const std::vector<float>& got, const std::vector<float>& want) {
    double squares = 0;
    for (const float x : want) squares += static_cast<double>(x) * static_cast<double>(x);
    const auto typical = static_cast<float>(std::sqrt(squares / static_cast<double>(want.size())));
    expect_close(got, want, 1e-5f * typical, 1e-5f);
  }
};

TEST_P(GatedDeltaNet, NumbersOfTokens) {
  for (const int32_t n : {1, 2, 3, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 150}) {
    expect_match({.places = tokens(n)});
    expect_match({.places = tokens(n, 0)});
  }
}

TEST_P(GatedDeltaNet, RealHeads) {
  for (const int32_t n : {1, 18}) {
    expect_match({.head_dim = 128, .n_key_head = 16, .n_value_head = 16, .places = tokens(n)});
    expect_match({.head_dim = 128, .n_key_head = 16, .n_value_head = 32, .places = tokens(n)});
  }
}

// Rounding does not add up.
TEST_P(GatedDeltaNet, LongRuns) {
  expect_match({.head_dim = 128, .n_key_head = 1, .n_value_head = 1, .places = tokens(512)});
}

TEST_P(GatedDeltaNet, HeadSizes) {
  for (const int64_t head_dim :
       {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 20, 31, 33, 48, 64, 80, 100, 144, 256, 300}) {
    for (const int32_t n : {2, 19}) expect_match({.head_dim = head_dim, .places = tokens(n)});
  }
}

TEST_P(GatedDeltaNet, HeadCounts) {
  for (const int64_t n_key_head : {1, 2, 3}) {
    for (const int64_t group : {1, 2, 5}) {
      for (const int32_t n : {1, 33}) {
        expect_match({.n_key_head = n_key_head, .n_value_head = n_key_head * group, .places = tokens(n)});
      }
    }
  }
}

TEST_P(GatedDeltaNet, SequencesSideBySide) {
  expect_match({.places = TokenPlaces().add(2, 9, 1).add(0, 0, 1).add(3, 70, 1)});
  expect_match({.places = TokenPlaces().add(1, 12, 40).add(4, 0, 50).add(0, 7, 1).add(2, 0, 3)});
}

// More sequences than there are shares of a batch that a device hands out, some of them at their start.
TEST_P(GatedDeltaNet, ManySequences) {
  for (const int32_t most : {1, 3}) {
    TokenPlaces places;
    for (int32_t s = 0; s < 150; ++s) places.add((s * 7) % 150, s % 4 == 0 ? 0 : s, 1 + s % most);
    expect_match({.head_dim = 16, .places = places});
  }
}

// Gates far out: what a token leaves of the state, and what it learns, is nothing, or everything, or both in
// turns.
TEST_P(GatedDeltaNet, StrongAndWeakGates) {
  for (const float gate_limit : {0.0f, 30.0f, 200.0f}) {
    for (const float a_limit : {0.0f, 1e-4f, 1.0f, 100.0f, 1e6f}) {
      for (const int32_t n : {3, 100}) {
        expect_match({.places = tokens(n), .gate_limit = gate_limit, .a_limit = a_limit});
      }
    }
  }
}

// Their length counts as eps.
TEST_P(GatedDeltaNet, QueriesAndKeysOfNoLength) {
  for (const float limit : {0.0f, 1e-9f, 1e-7f}) expect_match({.places = tokens(40), .input_limit = limit});
}

PARLANCE_FOR_EACH_DEVICE(GatedDeltaNet, &OpTable::gated_delta_net);

// Tokens give the same bits, and leave the same state, however a text is cut.
class GatedDeltaNetRows : public testing::TestWithParam<Isa> {};

TEST_P(GatedDeltaNetRows, AreTheSameWhereverATextIsCut) {
  constexpr int64_t kHeads = 2, kTokens = 53;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const auto floats = [&](int64_t n) {
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = normal(random);
    return values;
  };
  for (const int64_t n : {7, 32, 100, 128}) {
    const auto qkv = floats(3 * kHeads * n * kTokens), alpha = floats(kHeads * kTokens),
               beta = floats(kHeads * kTokens), a = std::vector<float>{-0.3f, -2}, dt_bias = floats(kHeads);
    // The outputs of all tokens, then the state, computed in pieces of these lengths.
    const auto in_pieces = [&](int n_threads, const std::vector<int64_t>& lengths) {
      OpBench bench(std::move(*make_cpu_device({.n_threads = n_threads, .isa = name_of(GetParam())})));
      const Tensor state =
          bench.upload({n, n, kHeads, 1}, std::vector<float>(static_cast<size_t>(n * n * kHeads), 0.1f));
      const auto rows = [&](const std::vector<float>& x, int64_t width, int64_t first, int64_t count) {
        return bench.upload({width, count, 1, 1}, std::vector<float>(x.begin() + first * width,
                                                                     x.begin() + (first + count) * width));
      };
      std::vector<float> all;
      int64_t first = 0;
      for (const int64_t count : lengths) {
        const Tensor x = rows(qkv, 3 * kHeads * n, first, count);
        const DeltaNetGates gates{.alpha = rows(alpha, kHeads, first, count),
                                  .beta = rows(beta, kHeads, first, count),
                                  .a = bench.upload({kHeads, 1, 1, 1}, a),
                                  .dt_bias = bench.upload({kHeads, 1, 1, 1}, dt_bias)};
        const BatchView batch =
            TokenPlaces().add(0, static_cast<int32_t>(first), static_cast<int32_t>(count)).on(bench);
        const auto out =
            bench.run([&](Stream& s) { return gated_delta_net(s, x, gates, {state}, batch, 1e-6f); });
        all.insert(all.end(), out.begin(), out.end());
        first += count;
      }
      const auto left = bench.download(state);
      all.insert(all.end(), left.begin(), left.end());
      return all;
    };
    const auto alone = in_pieces(1, std::vector<int64_t>(kTokens, 1));
    for (const auto& lengths : {std::vector<int64_t>{53}, {16, 37}, {1, 31, 20, 1}, {20, 33}}) {
      for (const int n_threads : {1, 3}) {
        const auto got = in_pieces(n_threads, lengths);
        ASSERT_EQ(0, std::memcmp(got.data(), alone.data(), got.size() * sizeof(float)))
            << "heads of " << n << ", " << lengths.size() << " pieces, " << n_threads << " threads";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, GatedDeltaNetRows, testing::ValuesIn(isas_with_own(&OpTable::gated_delta_net)),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace parlance::test
