// What masks cost over a real vocabulary: parlance's bench reads the model that PARLANCE_MODEL names.
//
//   PARLANCE_MODEL=Qwen3-0.6B-Q8_0.gguf token_masks_bench
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <random>

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

// Random answers in a table that nobody has used before, or in one that others have filled: the time of the
// mean token, and of the slowest one.
void masks_of_answers(benchmark::State& state) {
  if (!vocabulary()) return state.SkipWithError("PARLANCE_MODEL names no model");
  const bool is_warm = state.range(0) != 0;
  const auto grammar = *Grammar::from_json_schema(kBenchSchema);
  auto masks = *TokenMasks::make(grammar, vocabulary()->trie);
  double slowest = 0;
  int64_t n_tokens = 0;
  std::mt19937_64 random(1);
  const auto answer = [&] {
    GrammarState at = masks->begin();
    for (int i = 0; i < 200 && !at.must_end(); ++i, ++n_tokens) {
      const auto start = std::chrono::steady_clock::now();
      const auto mask = *at.allowed();
      slowest =
          std::max(slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      const auto n_vocab = static_cast<uint64_t>(vocabulary()->tokenizer.n_vocab());
      auto token = static_cast<Token>(random() % n_vocab);
      while (!mask->allows(token) || !at.advance(token))
        token = static_cast<Token>((token + 1) % static_cast<Token>(n_vocab));
    }
  };
  if (is_warm) {
    for (int i = 0; i < 20; ++i) answer();
  }
  slowest = 0;
  n_tokens = 0;
  for (auto _ : state) {
    if (!is_warm) masks = *TokenMasks::make(grammar, vocabulary()->trie);
    answer();
  }
  state.counters["tokens"] = static_cast<double>(n_tokens);
  state.counters["us/token"] = benchmark::Counter(static_cast<double>(n_tokens) * 1e-6,
                                                  benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["slowest_ms"] = slowest * 1e3;
}
BENCHMARK(masks_of_answers)->ArgName("warm")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
