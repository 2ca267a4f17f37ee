// Samplers: what each does to candidates, chains, a program's own, and what they remember.
#include <cmath>
#include <limits>
#include <set>

#include "capi/llama/support.h"

namespace parlance::test {
namespace {

// Candidates with these logits, tokens 0, 1, 2, …
class TestCandidates {
 public:
  explicit TestCandidates(const std::vector<float>& logits) {
    for (size_t i = 0; i < logits.size(); ++i) data_.push_back({static_cast<llama_token>(i), logits[i], 0});
    array_ = {data_.data(), data_.size(), -1, false};
  }
  // Ends the sampler.
  TestCandidates& after(llama_sampler* sampler) {
    EXPECT_NE(sampler, nullptr);
    llama_sampler_apply(sampler, &array_);
    llama_sampler_free(sampler);
    return *this;
  }
  std::vector<llama_token> tokens() const {
    std::vector<llama_token> all;
    for (size_t i = 0; i < array_.size; ++i) all.push_back(array_.data[i].id);
    return all;
  }
  std::vector<float> logits() const {
    std::vector<float> all;
    for (size_t i = 0; i < array_.size; ++i) all.push_back(array_.data[i].logit);
    return all;
  }
  llama_token chosen() const { return array_.selected < 0 ? -1 : array_.data[array_.selected].id; }
  llama_token_data_array& array() { return array_; }

 private:
  std::vector<llama_token_data> data_;
  llama_token_data_array array_ = {};
};

using Tokens = std::vector<llama_token>;
constexpr float kNone = -std::numeric_limits<float>::infinity();

float log_of(float p) {
  return std::log(p);
}

TEST(LlamaSampler, StepsLeaveWhatTheyShould) {
  const std::vector<float> logits = {1, 3, 2, 0};
  EXPECT_EQ(TestCandidates(logits).after(llama_sampler_init_greedy()).chosen(), 1);
  EXPECT_EQ(TestCandidates({2, 2}).after(llama_sampler_init_greedy()).chosen(), 0);
  EXPECT_EQ(TestCandidates(logits).after(llama_sampler_init_top_k(2)).tokens(), (Tokens{1, 2}));
  EXPECT_EQ(TestCandidates(logits).after(llama_sampler_init_top_k(9)).tokens(), (Tokens{1, 2, 0, 3}));
  EXPECT_EQ(TestCandidates(logits).after(llama_sampler_init_top_k(0)).tokens(), (Tokens{0, 1, 2, 3}));

  const std::vector<float> shares = {log_of(0.1f), log_of(0.5f), log_of(0.25f), log_of(0.15f)};
  EXPECT_EQ(TestCandidates(shares).after(llama_sampler_init_top_p(0.7f, 0)).tokens(), (Tokens{1, 2}));
  EXPECT_EQ(TestCandidates(shares).after(llama_sampler_init_top_p(0.7f, 3)).tokens(), (Tokens{1, 2, 3}));
  EXPECT_EQ(TestCandidates(shares).after(llama_sampler_init_top_p(0.01f, 0)).tokens(), (Tokens{1}));
  EXPECT_EQ(TestCandidates(shares).after(llama_sampler_init_top_p(1, 0)).tokens(), (Tokens{0, 1, 2, 3}));
  EXPECT_EQ(TestCandidates(shares).after(llama_sampler_init_min_p(0.29f, 0)).tokens(), (Tokens{1, 2, 3}));
  EXPECT_EQ(TestCandidates(shares).after(llama_sampler_init_min_p(0.9f, 2)).tokens(), (Tokens{1, 2}));
  EXPECT_EQ(TestCandidates(shares).after(llama_sampler_init_min_p(0, 0)).tokens(), (Tokens{0, 1, 2, 3}));
  // Entropy 1.208: a quarter is the nearest (1.386), then a half (0.693).
  EXPECT_EQ(TestCandidates(shares).after(llama_sampler_init_typical(0.2f, 1)).tokens(), (Tokens{2}));
  EXPECT_EQ(TestCandidates(shares).after(llama_sampler_init_typical(0.3f, 1)).tokens(), (Tokens{2, 1}));
  EXPECT_EQ(TestCandidates(shares).after(llama_sampler_init_typical(1, 1)).tokens(), (Tokens{0, 1, 2, 3}));
}

TEST(LlamaSampler, TemperaturesScale) {
  EXPECT_EQ(TestCandidates({1, 3, 2}).after(llama_sampler_init_temp(0.5f)).logits(),
            (std::vector<float>{2, 6, 4}));
  EXPECT_EQ(TestCandidates({1, 3, 2}).after(llama_sampler_init_temp(0)).logits(),
            (std::vector<float>{kNone, 3, kNone}));
  EXPECT_EQ(TestCandidates({1, 3, 2}).after(llama_sampler_init_temp_ext(0.5f, 0, 1)).logits(),
            (std::vector<float>{2, 6, 4}));
  // A flat distribution gets the highest temperature, one of a single token the lowest.
  TestCandidates flat({1, 1, 1, 1});
  flat.after(llama_sampler_init_temp_ext(1, 0.5f, 1));
  EXPECT_NEAR(flat.logits()[0], 1 / 1.5f, 1e-5f);
  TestCandidates sharp({50, 1, 1, 1});
  sharp.after(llama_sampler_init_temp_ext(1, 0.5f, 1));
  EXPECT_NEAR(sharp.logits()[0], 100, 1e-3f);
}

TEST(LlamaSampler, PenaltiesKnowWhatWasSaid) {
  const OwnedSampler penalties(llama_sampler_init_penalties(0, 2, 2, 0.5f, 0.25f));
  for (const llama_token token : {3, 1, 1})
    llama_sampler_accept(penalties.get(), token);  // 3 is too long ago
  const auto applied = [&](llama_sampler* sampler) {
    TestCandidates candidates({4, 4, -4, 4});
    llama_sampler_apply(sampler, &candidates.array());
    return candidates.logits();
  };
  EXPECT_EQ(applied(penalties.get()), (std::vector<float>{4, 2 - 1 - 0.25f, -4, 4}));
  const OwnedSampler twin(llama_sampler_clone(penalties.get()));
  llama_sampler_accept(twin.get(), 2);
  EXPECT_EQ(applied(twin.get()), (std::vector<float>{4, 2 - 0.5f - 0.25f, -8 - 0.5f - 0.25f, 4}));
  EXPECT_EQ(applied(penalties.get())[2], -4);
  llama_sampler_reset(penalties.get());
  EXPECT_EQ(applied(penalties.get()), (std::vector<float>{4, 4, -4, 4}));
  const LlamaLog log;
  EXPECT_EQ(llama_sampler_init_penalties(0, 2, 0, 0, 0), nullptr);
  EXPECT_EQ(llama_sampler_init_penalties(0, 2, 1, NAN, 0), nullptr);
  EXPECT_TRUE(log.says("penalty_repeat")) << log.text;
}

TEST(LlamaSampler, BiasesAreByToken) {
  const llama_logit_bias biases[] = {{1, 5}, {2, kNone}, {99, 1}};
  EXPECT_EQ(TestCandidates({0, 0, 0}).after(llama_sampler_init_logit_bias(3, 3, biases)).logits(),
            (std::vector<float>{0, 5, kNone}));
  TestCandidates sorted({0, 1, 3, 2});
  sorted.after(llama_sampler_init_top_k(3)).after(llama_sampler_init_logit_bias(4, 3, biases));
  EXPECT_EQ(sorted.tokens(), (Tokens{2, 3, 1}));
  EXPECT_EQ(sorted.logits(), (std::vector<float>{kNone, 2, 6}));
}

TEST(LlamaSampler, DrawsByProbability) {
  const OwnedSampler drawn(llama_sampler_init_dist(7)), same(llama_sampler_init_dist(7));
  EXPECT_EQ(llama_sampler_get_seed(drawn.get()), 7u);
  std::vector<int> counts(3);
  constexpr int kDraws = 4000;
  const auto draw = [](llama_sampler* sampler) {
    TestCandidates candidates({log_of(0.2f), log_of(0.5f), log_of(0.3f)});
    llama_sampler_apply(sampler, &candidates.array());
    EXPECT_NEAR(candidates.array().data[1].p, 0.5f, 1e-5f);
    return candidates.chosen();
  };
  std::vector<llama_token> first;
  for (int i = 0; i < kDraws; ++i) {
    const llama_token token = draw(drawn.get());
    ASSERT_EQ(token, draw(same.get()));
    ++counts[static_cast<size_t>(token)];
    if (i < 20) first.push_back(token);
  }
  EXPECT_NEAR(counts[0], 800, 120);
  EXPECT_NEAR(counts[1], 2000, 150);
  llama_sampler_reset(drawn.get());
  const OwnedSampler twin(llama_sampler_clone(drawn.get()));
  for (const llama_token token : first) {
    EXPECT_EQ(draw(drawn.get()), token);
    EXPECT_EQ(draw(twin.get()), token);
  }
  std::set<uint32_t> seeds;  // where none is given
  for (int i = 0; i < 4; ++i)
    seeds.insert(llama_sampler_get_seed(OwnedSampler(llama_sampler_init_dist(LLAMA_DEFAULT_SEED)).get()));
  EXPECT_GT(seeds.size(), 1u);
}

// A program's own: forbids a token, and counts.
struct Forbids {
  llama_token token;
  int n_applied = 0, n_accepted = 0, n_reset = 0;
  bool* is_freed;
};
Forbids& forbids(const llama_sampler* sampler) {
  return *static_cast<Forbids*>(sampler->ctx);
}
llama_sampler_i forbids_functions = {
    .name = [](const llama_sampler*) { return "forbids"; },
    .accept = [](llama_sampler* s, llama_token) { ++forbids(s).n_accepted; },
    .apply =
        [](llama_sampler* s, llama_token_data_array* all) {
          ++forbids(s).n_applied;
          for (size_t i = 0; i < all->size; ++i) {
            if (all->data[i].id == forbids(s).token) all->data[i].logit = kNone;
          }
        },
    .reset = [](llama_sampler* s) { ++forbids(s).n_reset; },
    .clone =
        [](const llama_sampler* s) {
          return llama_sampler_init(&forbids_functions, new Forbids(forbids(s)));
        },
    .free =
        [](llama_sampler* s) {
          *forbids(s).is_freed = true;
          delete &forbids(s);
        },
    .of_graphs = {},
};

TEST(LlamaSampler, TakesAProgramsOwn) {
  const auto ctx = demo_llama_context();
  auto prompt = llama_tokens_of(prompt_of(kQuestion));
  ASSERT_EQ(llama_decode(ctx.get(), llama_batch_get_one(prompt.data(), static_cast<int32_t>(prompt.size()))),
            0);
  const llama_token usual = likeliest(logits_at(ctx.get(), -1));
  bool is_freed = false, is_twin_freed = false;
  auto* const state = new Forbids{.token = usual, .is_freed = &is_freed};
  llama_sampler_chain_params params = llama_sampler_chain_default_params();
  EXPECT_TRUE(params.no_perf);
  params.no_perf = false;
  OwnedSampler chain(llama_sampler_chain_init(params));
  llama_sampler* const own = llama_sampler_init(&forbids_functions, state);
  llama_sampler_chain_add(chain.get(), own);
  llama_sampler_chain_add(chain.get(), llama_sampler_init_greedy());
  EXPECT_EQ(llama_sampler_chain_n(chain.get()), 2);
  EXPECT_EQ(llama_sampler_chain_get(chain.get(), 0), own);
  EXPECT_EQ(llama_sampler_chain_get(chain.get(), -1), chain.get());
  EXPECT_EQ(llama_sampler_chain_get(chain.get(), 2), nullptr);
  EXPECT_EQ(llama_sampler_chain_get(own, -1), nullptr);
  EXPECT_STREQ(llama_sampler_name(own), "forbids");
  EXPECT_STREQ(llama_sampler_name(chain.get()), "chain");

  const llama_token other = llama_sampler_sample(chain.get(), ctx.get(), -1);
  EXPECT_NE(other, usual);
  EXPECT_GE(other, 0);
  EXPECT_EQ(state->n_applied, 1);
  EXPECT_EQ(state->n_accepted, 1);
  llama_sampler_reset(chain.get());
  EXPECT_EQ(state->n_reset, 1);
  const llama_perf_sampler_data times = llama_perf_sampler(chain.get());
  EXPECT_EQ(times.n_sample, 1);
  EXPECT_GE(times.t_sample_ms, 0);
  llama_perf_sampler_reset(chain.get());
  EXPECT_EQ(llama_perf_sampler(chain.get()).n_sample, 0);

  state->is_freed = &is_twin_freed;
  OwnedSampler twin(llama_sampler_clone(chain.get()));
  state->is_freed = &is_freed;
  EXPECT_EQ(llama_sampler_sample(twin.get(), ctx.get(), -1), other);
  EXPECT_EQ(state->n_applied, 1);
  twin.reset();
  EXPECT_TRUE(is_twin_freed);
  EXPECT_FALSE(is_freed);

  EXPECT_EQ(llama_sampler_chain_remove(chain.get(), 0), own);
  EXPECT_EQ(llama_sampler_sample(chain.get(), ctx.get(), -1), usual);
  chain.reset();
  EXPECT_FALSE(is_freed);  // it is the program's again
  llama_sampler_free(own);
  EXPECT_TRUE(is_freed);
}

TEST(LlamaSampler, MisuseIsALineInTheLog) {
  const auto ctx = demo_llama_context();
  llama_token token = 5;
  ASSERT_EQ(llama_decode(ctx.get(), llama_batch_get_one(&token, 1)), 0);
  const LlamaLog log;
  const OwnedSampler chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
  EXPECT_EQ(llama_sampler_sample(chain.get(), ctx.get(), -1), LLAMA_TOKEN_NULL);
  EXPECT_TRUE(log.says("no token was chosen")) << log.text;
  llama_sampler_chain_add(chain.get(), chain.get());
  EXPECT_TRUE(log.says("member of itself")) << log.text;
  llama_sampler* const inner = llama_sampler_chain_init(llama_sampler_chain_default_params());
  llama_sampler_chain_add(chain.get(), inner);
  llama_sampler_chain_add(inner, chain.get());
  EXPECT_EQ(llama_sampler_chain_n(inner), 0);
  llama_sampler* const freed = llama_sampler_init_greedy();
  llama_sampler_free(freed);
  llama_sampler_free(freed);
  EXPECT_TRUE(log.says("it was freed")) << log.text;
  llama_sampler_chain_add(chain.get(), freed);
  EXPECT_EQ(llama_sampler_chain_n(chain.get()), 1);
  EXPECT_EQ(llama_sampler_init(nullptr, nullptr), nullptr);
  EXPECT_EQ(llama_sampler_sample(chain.get(), nullptr, -1), LLAMA_TOKEN_NULL);
  TestCandidates odd({NAN, 1, kNone, INFINITY});
  for (llama_sampler* sampler :
       {llama_sampler_init_top_k(2), llama_sampler_init_typical(0.5f, 1), llama_sampler_init_dist(1)})
    odd.after(sampler);
  llama_token_data_array none = {nullptr, 0, -1, false}, lost = {nullptr, 3, -1, false};
  for (llama_token_data_array* array : {&none, &lost, static_cast<llama_token_data_array*>(nullptr)}) {
    const OwnedSampler greedy(llama_sampler_init_greedy());
    llama_sampler_apply(greedy.get(), array);
  }
  EXPECT_EQ(none.selected, -1);
}

TEST(LlamaSampler, GrammarsHoldAnswers) {
  const auto answer = [](const char* grammar, const char* root) {
    const auto ctx = demo_llama_context();
    auto prompt = llama_tokens_of(prompt_of(kQuestion));
    EXPECT_EQ(
        llama_decode(ctx.get(), llama_batch_get_one(prompt.data(), static_cast<int32_t>(prompt.size()))), 0);
    const OwnedSampler chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
    llama_sampler_chain_add(chain.get(), llama_sampler_init_grammar(demo_vocab(), grammar, root));
    llama_sampler_chain_add(chain.get(), llama_sampler_init_greedy());
    std::string text;
    for (int i = 0; i < 30; ++i) {
      llama_token token = llama_sampler_sample(chain.get(), ctx.get(), -1);
      if (token < 0 || llama_vocab_is_eog(demo_vocab(), token)) return text;
      text += piece_of(token);
      EXPECT_EQ(llama_decode(ctx.get(), llama_batch_get_one(&token, 1)), 0);
    }
    return text + "...";
  };
  EXPECT_EQ(answer("root ::= [0-9] [0-9] \"!\"", "root").size(), 3u);
  EXPECT_EQ(answer("other ::= \"A capital: Paris\"", "other"), "A capital: Paris");
  EXPECT_EQ(answer("", "root"), "The capital of France is Paris.");
  const LlamaLog log;
  EXPECT_EQ(llama_sampler_init_grammar(demo_vocab(), "root ::= (", "root"), nullptr);
  EXPECT_EQ(llama_sampler_init_grammar(nullptr, "root ::= \"a\"", "root"), nullptr);
  EXPECT_FALSE(log.text.empty());
}

}  // namespace
}  // namespace parlance::test
