// Speed of what reading and writing a KV cache does to one head vector of 128: the encoders of the compressed
// formats, and the transforms between head vectors and stored values. Beside the time, the processor's share
// that a prefill of Qwen3-0.6B at 500 tokens/s (56 vectors of keys and values of 8 heads a token) spends on
// it.
//
//   kv_rows_bench --benchmark_filter='search/tbq4_0' --benchmark_min_time=0.5
//
// PARLANCE_ISA chooses another instruction set than the best.
#include <benchmark/benchmark.h>

#include <random>

#include "kernels/cpu/rows.h"

namespace parlance {
namespace {

constexpr int64_t kHeadDim = 128;
constexpr int64_t kVectors = 64;  // in the caches, as they are in a step
constexpr double kVectorsPerSecond = 500.0 * 56 * 8;

std::vector<float> normal_vectors(int64_t n) {
  std::mt19937 random(1);
  std::normal_distribution<float> distribution;
  std::vector<float> x(static_cast<size_t>(n));
  for (float& value : x) value = distribution(random);
  return x;
}

void count_vectors(benchmark::State& state) {
  const auto vectors = static_cast<double>(state.iterations() * kVectors);
  state.counters["per_vector"] =
      benchmark::Counter(vectors, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["of_prefill"] = benchmark::Counter(
      vectors / kVectorsPerSecond, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void encode(benchmark::State& state, const KvCoding& coding) {
  const RowEncoder encoder(*choose_isa(), coding);
  const auto x = normal_vectors(kVectors * kHeadDim);
  const size_t row_bytes = kv_row_bytes(coding.format, kHeadDim);
  std::vector<std::byte> rows(kVectors * row_bytes);
  for (auto _ : state) {
    for (int64_t i = 0; i < kVectors; ++i) {
      encoder(x.data() + i * kHeadDim, rows.data() + static_cast<size_t>(i) * row_bytes, kHeadDim);
    }
    benchmark::ClobberMemory();
  }
  count_vectors(state);
}

void transform(benchmark::State& state, TransformRow* function, KvTransform kind) {
  const auto x = normal_vectors(kVectors * 2 * kHeadDim);
  std::vector<float> y(x.size());
  for (auto _ : state) {
    for (int64_t i = 0; i < kVectors; ++i) {
      function(kind, x.data() + 2 * i * kHeadDim, y.data() + 2 * i * kHeadDim, kHeadDim);
    }
    benchmark::ClobberMemory();
  }
  count_vectors(state);
}

constexpr std::string_view kTransformNames[kKvTransformCount] = {
    "none",         "hadamard", "signed_hadamard_32",  "signed_hadamard_128",
    "hadamard_128", "sketch",   "sketch_least_squares"};

[[maybe_unused]] const bool kRegistered = [] {
  const auto add = [](std::string name, auto... arguments) {
    benchmark::RegisterBenchmark(name.c_str(), arguments...);
  };
  for (const auto encoder : {KvEncoder::compatible, KvEncoder::search}) {
    const std::string mode = encoder == KvEncoder::search ? "search/" : "compatible/";
    for (size_t format = 0; format < kKvFormatCount; ++format) {
      const KvCoding coding{.format = static_cast<KvFormat>(format), .encoder = encoder};
      add(mode + std::string(name_of(coding.format)), encode, coding);
    }
  }
  add("search/q4_0/rotated", encode, KvCoding{.format = KvFormat::q4_0, .rotated = true});
  for (int kind = 0; kind < kKvTransformCount; ++kind) {
    const std::string name(kTransformNames[kind]);
    add("to_stored/" + name, transform, to_stored_of(*choose_isa()), static_cast<KvTransform>(kind));
    add("from_stored/" + name, transform, from_stored_of(*choose_isa()), static_cast<KvTransform>(kind));
  }
  return true;
}();

}  // namespace
}  // namespace parlance

BENCHMARK_MAIN();
