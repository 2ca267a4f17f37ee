// Speed of the voice activity detector: one window of 32 ms on one core, and how that compares with reading
// its packed weights and with the multiplications that it needs.
//
//   PARLANCE_VAD=silero-vad-v5.gguf silero_bench
//
// Weights are random without a file: the time does not depend on them.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "vad/silero.h"

namespace parlance {
namespace {

std::vector<float> noise(int64_t n, float limit) {
  static std::mt19937 random(1);
  std::uniform_real_distribution<float> distribution(-limit, limit);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = distribution(random);
  return values;
}

std::shared_ptr<const SileroModel> model() {
  static const auto made = []() -> std::shared_ptr<const SileroModel> {
    if (const char* path = std::getenv("PARLANCE_VAD")) {
      auto loaded = load_silero(path);
      if (loaded) return *loaded;
      std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
      std::exit(1);
    }
    SileroWeights weights;
    weights.basis = noise(2 * kSileroBins * kSileroFrame, 1);
    for (size_t i = 0; i < kSileroConvs.size(); ++i) {
      const auto& [n_in, n_out, stride] = kSileroConvs[i];
      weights.conv_weight[i] = noise(n_out * n_in * kSileroTaps, 0.05f);
      weights.conv_bias[i] = noise(n_out, 0.1f);
    }
    weights.lstm_weight_ih = noise(kSileroGates * kSileroHidden, 0.05f);
    weights.lstm_weight_hh = noise(kSileroGates * kSileroHidden, 0.05f);
    weights.lstm_bias_ih = noise(kSileroGates, 0.1f);
    weights.lstm_bias_hh = noise(kSileroGates, 0.1f);
    weights.head_weight = noise(kSileroHidden, 0.1f);
    weights.head_bias = noise(1, 0.1f);
    return make_silero_model(std::move(weights));
  }();
  return made;
}

// Of the packed layers: what is read for every window, and the multiplications with it.
struct Work {
  size_t bytes = 0;
  int64_t n_multiplications = 0;
};
Work work_of(const SileroModel& model) {
  Work work;
  const auto add = [&](const SileroLayer& layer, int64_t n_moments) {
    work.bytes += layer.rows.size() * sizeof(SileroWeightRow);
    work.n_multiplications += layer.n_in * layer.n_out * n_moments;
  };
  add(model.cosines, 4);
  add(model.sines, 4);
  add(model.convs[0], 4);
  add(model.convs[1], 2);
  add(model.convs[2], 1);
  add(model.convs[3], 1);
  add(model.lstm, 1);
  return work;
}

void one_window(benchmark::State& state, Isa isa) {
  SileroVad vad(model(), isa);
  const auto samples = noise(kSileroWindow * 64, 0.1f);
  size_t i = 0;
  for (auto _ : state) {
    const auto window = std::span(samples).subspan(i++ % 64 * kSileroWindow).first<kSileroWindow>();
    benchmark::DoNotOptimize(vad.process(window));
  }
  const Work work = work_of(*model());
  const auto n = static_cast<double>(state.iterations());
  state.counters["bytes/s"] =
      benchmark::Counter(n * static_cast<double>(work.bytes), benchmark::Counter::kIsRate);
  state.counters["flop/s"] =
      benchmark::Counter(n * 2 * static_cast<double>(work.n_multiplications), benchmark::Counter::kIsRate);
  state.counters["of_realtime"] =
      benchmark::Counter(n * static_cast<double>(kSileroWindow) / static_cast<double>(kSileroSampleRateHz),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// After a pause in which other work has filled the nearer caches, as in a program that thinks and speaks too.
void one_window_cold(benchmark::State& state, Isa isa) {
  SileroVad vad(model(), isa);
  const auto window = noise(kSileroWindow, 0.1f);
  std::vector<float> others(8 << 20);
  for (auto _ : state) {
    state.PauseTiming();
    for (float& value : others) value += 1;
    benchmark::ClobberMemory();
    state.ResumeTiming();
    benchmark::DoNotOptimize(vad.process(std::span(window).first<kSileroWindow>()));
  }
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Isa isa : available_isas()) {
    const std::string name(name_of(isa));
    benchmark::RegisterBenchmark(("window/" + name).c_str(), one_window, isa)->Unit(benchmark::kMicrosecond);
  }
  benchmark::RegisterBenchmark("window_cold", one_window_cold, available_isas().back())
      ->Unit(benchmark::kMicrosecond)
      ->Iterations(200);
  return true;
}();

}  // namespace
}  // namespace parlance

BENCHMARK_MAIN();
