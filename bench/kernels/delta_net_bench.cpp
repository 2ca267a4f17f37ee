// Speed of the recurrent layers' two operations on a layer of Qwen3.5-0.8B (16 heads of 128, 6144 channels):
// decode (one token) against the bandwidth with which this machine reads memory, prefill in the least
// operations that the recurrence needs (three products with the state for each token) against its f32 peak.
// One layer follows the other through states that are together larger than the processor's caches. Runs that
// are named "again" verify a draft: but the first of their tokens are kept, and so many are taken in again.
//
//   delta_net_bench --benchmark_filter='heads/tokens:512' --benchmark_min_time=2
//
// PARLANCE_ISA chooses another instruction set than the best.
#include <benchmark/benchmark.h>

#include <numeric>
#include <optional>
#include <random>

#include "base/os/thread.h"
#include "base/thread_pool.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/roofline.h"
#include "kernels/ops.h"

namespace parlance {
namespace {

constexpr int64_t kHeads = 16, kHeadDim = 128, kTaps = 4;
constexpr int64_t kChannels = 3 * kHeads * kHeadDim;
constexpr int64_t kLayers = 96;  // 104 MiB of states
constexpr int64_t kPlaces = 63;  // of what is kept for drafts of 31 tokens

// Of a batch: tokens, and where it verifies a draft, tokens of the one before.
struct Rows {
  int64_t n_tokens;
  std::optional<int64_t> n_again;
};

// The inputs of a batch of one sequence, and the states of all layers.
class Setting {
 public:
  Setting(Device& device, Stream& stream, const Rows& rows) : device_(device), stream_(stream) {
    constexpr int32_t kFirst = 100;
    const int64_t n_tokens = rows.n_tokens;
    std::vector<int32_t> places(static_cast<size_t>(n_tokens));
    std::iota(places.begin(), places.end(), kFirst);
    const std::vector<int32_t> zeros(places.size(), 0);
    batch = {.seq = upload(DType::i32, {n_tokens, 1, 1, 1}, zeros),
             .pos = upload(DType::i32, {n_tokens, 1, 1, 1}, places),
             .n_kv_bound = kFirst + n_tokens};
    if (rows.n_again) {
      const auto all = [&](int64_t pos) {
        const std::vector<int32_t> same(places.size(), static_cast<int32_t>(pos));
        return upload(DType::i32, {n_tokens, 1, 1, 1}, same);
      };
      batch.state_from = all(kFirst - *rows.n_again);
      batch.state_to = all(kFirst + 1);
      channels.kept = noise({kChannels, kPlaces, 1, kLayers}, -1, 1);
      heads.kept = noise({kChannels + 2 * kHeads, kPlaces, 1, kLayers}, -1, 1);
    }
    x = noise({kChannels, n_tokens, 1, 1}, -1, 1);
    gates = {.alpha = noise({kHeads, n_tokens, 1, 1}, -3, 3),
             .beta = noise({kHeads, n_tokens, 1, 1}, -3, 3),
             .a = noise({kHeads, 1, 1, 1}, -1, 0),
             .dt_bias = noise({kHeads, 1, 1, 1}, -1, 1)};
    taps = noise({kTaps, kChannels, 1, 1}, -1, 1);
    channels.state = noise({kChannels, kTaps - 1, 1, kLayers}, -1, 1);
    heads.state = noise({kHeadDim, kHeadDim, kHeads, kLayers}, -1, 1);
  }

  // One layer's part of `channels` or `heads`.
  static Recurrence layer(const Recurrence& all, int64_t index) {
    Recurrence one = all;
    for (Tensor* tensor : {&one.state, &one.kept}) {
      tensor->ne[3] = 1;
      if (*tensor) tensor->data += static_cast<size_t>(index) * tensor->size();
    }
    return one;
  }

  BatchView batch;
  Tensor x;
  DeltaNetGates gates;
  Tensor taps;
  Recurrence channels, heads;  // of all layers

 private:
  template <class T>
  Tensor upload(DType dtype, std::array<int64_t, 4> ne, const std::vector<T>& values) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.ne = ne;
    buffers_.push_back(std::move(device_.allocate(tensor.size()).value()));
    tensor.data = buffers_.back()->base();
    stream_.upload(tensor, std::as_bytes(std::span(values)));
    return tensor;
  }

  Tensor noise(std::array<int64_t, 4> ne, float low, float high) {
    std::vector<float> values(static_cast<size_t>(ne[0] * ne[1] * ne[2] * ne[3]));
    for (float& value : values) value = low + (high - low) * static_cast<float>(random_()) * 0x1p-32f;
    return upload(DType::f32, ne, values);
  }

  Device& device_;
  Stream& stream_;
  std::mt19937 random_{1};
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

using LayerRun = void(Stream& stream, const Setting& setting, int64_t layer);

void run_heads(Stream& stream, const Setting& setting, int64_t layer) {
  gated_delta_net(stream, setting.x, setting.gates, Setting::layer(setting.heads, layer), setting.batch,
                  1e-6f);
}

void run_channels(Stream& stream, const Setting& setting, int64_t layer) {
  short_conv(stream, setting.x, setting.taps, Setting::layer(setting.channels, layer), setting.batch);
}

struct Operation {
  const char* name;
  LayerRun* run;
  double bytes_per_layer;  // read and written once, of what only this layer has
  double bytes_per_token;
  double ops_per_token;
};

constexpr Operation kOperations[] = {
    {"heads", run_heads, 2.0 * kHeads* kHeadDim* kHeadDim * sizeof(float),
     (kChannels + kHeads * kHeadDim) * sizeof(float), 6.0 * kHeads* kHeadDim* kHeadDim},
    {"channels", run_channels, (3.0 * kTaps - 2) * kChannels * sizeof(float), 2.0 * kChannels * sizeof(float),
     2.0 * kTaps* kChannels},
};

void run_benchmark(benchmark::State& state, const Operation& operation, const Rows& rows) {
  const auto n_threads = static_cast<int>(state.range(0));
  auto device = make_cpu_device({.n_threads = n_threads});
  if (!device) return state.SkipWithError(device.error().message.c_str());
  const auto stream = (*device)->make_stream();
  const Setting setting(**device, *stream, rows);
  int64_t layer = 0;
  const auto run = [&] {
    const Frame frame(*stream);
    operation.run(*stream, setting, layer);
  };
  if (!stream->reserve(stream->dry_run(run))) return state.SkipWithError("no memory for the workspace");

  for (auto _ : state) {
    run();
    layer = (layer + 1) % kLayers;
  }
  using benchmark::Counter;
  const auto n = static_cast<double>(state.iterations()), tokens = static_cast<double>(rows.n_tokens);
  const Roofline bound = measure_roofline(*choose_isa(), n_threads);
  const double bytes = operation.bytes_per_layer + tokens * operation.bytes_per_token;
  state.counters["us/token"] = Counter(n * tokens * 1e-6, Counter::kIsRate | Counter::kInvert);
  state.counters["GB/s"] = Counter(n * bytes * 1e-9, Counter::kIsRate);
  state.counters["of_GB/s"] = bound.read_bytes_per_second * 1e-9;
  state.counters["Gop/s"] = Counter(n * tokens * operation.ops_per_token * 1e-9, Counter::kIsRate);
  state.counters["of_Gop/s"] = bound.f32_ops_per_second * 1e-9;
}

void add_thread_counts(benchmark::internal::Benchmark* b) {
  const int n_processors = static_cast<int>(usable_processors().size());
  b->ArgName("threads")->Arg(1)->UseRealTime()->Unit(benchmark::kMicrosecond);
  if (n_processors > 1) b->Arg(n_processors);
}

}  // namespace
}  // namespace parlance

int main(int argc, char** argv) {
  using namespace parlance;
  for (const Operation& operation : kOperations) {
    for (const int64_t n_tokens : {1, 2, 4, 8, 12, 16, 20, 24, 32, 64, 512}) {
      const std::string name = fmt::format("{}/tokens:{}", operation.name, n_tokens);
      benchmark::RegisterBenchmark(name.c_str(), run_benchmark, operation, Rows{n_tokens, {}})
          ->Apply(add_thread_counts);
    }
    for (const Rows& rows :
         {Rows{2, 1}, Rows{8, 0}, Rows{8, 4}, Rows{8, 7}, Rows{16, 0}, Rows{16, 6}, Rows{16, 15}}) {
      const std::string name =
          fmt::format("{}/tokens:{}/again:{}", operation.name, rows.n_tokens, *rows.n_again);
      benchmark::RegisterBenchmark(name.c_str(), run_benchmark, operation, rows)->Apply(add_thread_counts);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
