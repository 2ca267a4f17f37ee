// What masks cost over a real vocabulary: parlance's bench reads the model that PARLANCE_MODEL names.
//
//   PARLANCE_MODEL=Qwen3-0.6B-Q8_0.gguf token_masks_bench
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "grammar/token_masks.h"

namespace {

using namespace parlance;

constexpr const char* kBenchSchema = R"({"type":"object","properties":{
  "name":{"type":"string"},"text":{"type":"string","maxLength":200},"age":{"type":"integer","minimum":0,"maximum":130},
  "tags":{"type":"array","items":{"type":"string"}},"score":{"type":"number"},"day":{"type":"string","format":"date"},
  "kind":{"enum":["person","place","thing"]},"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},
  "required":["name","text","age","tags","kind","next"]})";

struct Vocabulary {
  Tokenizer tokenizer;
  std::shared_ptr<const TokenTrie> trie;
};

const Vocabulary* vocabulary() {
  static const Vocabulary* const kVocabulary = []() -> Vocabulary* {
    const char* const path = std::getenv("PARLANCE_MODEL");
    auto file = path ? GgufFile::open(path) : fail(ErrorCode::not_found, "");
    if (!file) return nullptr;
    auto tokenizer = Tokenizer::load(*file);
    if (!tokenizer) return nullptr;
    auto* const loaded = new Vocabulary{*std::move(tokenizer), nullptr};
    loaded->trie = std::make_shared<TokenTrie>(loaded->tokenizer);
    return loaded;
  }();
  return kVocabulary;
}

void build_trie(benchmark::State& state) {
  if (!vocabulary()) return state.SkipWithError("PARLANCE_MODEL names no model");
  for (auto _ : state) benchmark::DoNotOptimize(TokenTrie(vocabulary()->tokenizer).bytes());
}
BENCHMARK(build_trie)->Unit(benchmark::kMillisecond);

void compile_schema(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Grammar::from_json_schema(kBenchSchema));
}
BENCHMARK(compile_schema)->Unit(benchmark::kMillisecond);

// Random answers in a table that nobody has used before, or in one that others have filled: microseconds
// until a token's mask is there, and until the token has been taken.
void masks_of_answers(benchmark::State& state) {
  if (!vocabulary()) return state.SkipWithError("PARLANCE_MODEL names no model");
  using Clock = std::chrono::steady_clock;
  const bool is_warm = state.range(0) != 0;
  const auto grammar = *Grammar::from_json_schema(kBenchSchema);
  auto masks = *TokenMasks::make(grammar, vocabulary()->trie);
  const auto n_vocab = vocabulary()->tokenizer.n_vocab();
  std::mt19937_64 random(1);
  std::vector<double> mask_us, advance_us;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  };
  const auto answer = [&] {
    GrammarState at = masks->begin();
    for (int i = 0; i < 200 && !at.must_end(); ++i) {
      const auto start = Clock::now();
      const auto mask = *at.allowed();
      mask_us.push_back(since(start));
      auto token = static_cast<Token>(random() % static_cast<uint64_t>(n_vocab));
      while (!mask->allows(token) || vocabulary()->tokenizer.is_end_of_generation(token))
        token = (token + 1) % n_vocab;
      const auto chosen = Clock::now();
      at.advance(token);
      advance_us.push_back(since(chosen));
    }
  };
  if (is_warm) {
    for (int i = 0; i < 50; ++i) answer();
  }
  mask_us.clear();
  advance_us.clear();
  for (auto _ : state) {
    if (!is_warm) masks = *TokenMasks::make(grammar, vocabulary()->trie);
    answer();
  }
  std::ranges::sort(mask_us);
  const auto mean = [](const std::vector<double>& us) {
    return std::accumulate(us.begin(), us.end(), 0.0) / static_cast<double>(us.size());
  };
  state.counters["tokens"] = static_cast<double>(mask_us.size());
  state.counters["mask_us"] = mean(mask_us);
  state.counters["mask_median_us"] = mask_us[mask_us.size() / 2];
  state.counters["mask_p99_us"] = mask_us[mask_us.size() * 99 / 100];
  state.counters["mask_slowest_us"] = mask_us.back();
  state.counters["advance_us"] = mean(advance_us);
}
BENCHMARK(masks_of_answers)->ArgName("warm")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
