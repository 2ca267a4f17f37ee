// Speed of matmul on the layers of Qwen3-0.6B, by weight type, beside the bounds of the machine: decode (one
// token) in bytes of weights, prefill in operations. One layer follows the other through more weights than
// caches hold.
//
//   matmul_bench --benchmark_filter='decode/q4_0' --benchmark_min_time=2
//
// PARLANCE_ISA chooses another instruction set than the best.
#include <benchmark/benchmark.h>

#include <random>

#include "base/os/thread.h"
#include "base/thread_pool.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/roofline.h"
#include "kernels/ops.h"

namespace parlance {
namespace {

constexpr int64_t kEmbd = 1024, kHeads = 2048, kHeadsKv = 1024, kFf = 3072;
constexpr size_t kWeightBytes = size_t{192} << 20;  // beyond the largest caches
constexpr DType kTypes[] = {DType::f32,  DType::f16,  DType::bf16, DType::q8_0,   DType::q4_0,
                            DType::q4_1, DType::q5_0, DType::q5_1, DType::q2_k,   DType::q3_k,
                            DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq4_xs};

// The matrices of one layer.
struct Layer {
  Linear q, k, v, o, gate, up, down;
};

class Weights {
 public:
  explicit Weights(DType dtype) : dtype_(dtype) {
    const size_t layer = row_bytes(dtype, kEmbd) * (kHeads + 2 * kHeadsKv + 2 * kFf) +
                         row_bytes(dtype, kHeads) * kEmbd + row_bytes(dtype, kFf) * kEmbd;
    const size_t n_layers = kWeightBytes / layer + 1;
    // A device's large buffers lie in huge pages, as a file's pages in the page cache do on recent systems.
    auto buffer = make_cpu_device()->get()->allocate(n_layers * layer);
    if (!buffer) return;
    buffer_ = std::move(*buffer);
    // No byte above 0x3f: every float and half float is an ordinary number below two.
    std::mt19937_64 random(1);
    auto* words = reinterpret_cast<uint64_t*>(buffer_->base());
    for (size_t i = 0; i < buffer_->size() / sizeof(uint64_t); ++i) words[i] = random() & 0x3f3f3f3f3f3f3f3f;
    for (size_t i = 0; i < n_layers; ++i) {
      layers_.push_back({take(kEmbd, kHeads), take(kEmbd, kHeadsKv), take(kEmbd, kHeadsKv),
                         take(kHeads, kEmbd), take(kEmbd, kFf), take(kEmbd, kFf), take(kFf, kEmbd)});
    }
  }

  const std::vector<Layer>& layers() const { return layers_; }
  size_t layer_bytes() const { return used_ / layers_.size(); }

 private:
  Linear take(int64_t n_in, int64_t n_out) {
    Linear linear;
    linear.weight.dtype = dtype_;
    linear.weight.ne = {n_in, n_out, 1, 1};
    linear.weight.data = buffer_->base() + used_;
    used_ += linear.weight.size();
    return linear;
  }

  DType dtype_;
  std::unique_ptr<Buffer> buffer_;
  size_t used_ = 0;
  std::vector<Layer> layers_;
};

// The last one made is kept: benchmarks of one type follow each other.
const Weights& weights_of(DType dtype) {
  static DType kept = DType::i8;
  static std::unique_ptr<Weights> weights;
  if (kept != dtype) {
    weights.reset();
    weights = std::make_unique<Weights>(dtype);
    kept = dtype;
  }
  return *weights;
}

void run_layer(Stream& s, const Layer& layer, const Tensor& x, const Tensor& heads, const Tensor& ff) {
  const Frame frame(s);
  matmul(s, {&layer.q, &layer.k, &layer.v}, x);
  matmul(s, layer.o, heads);
  matmul(s, {&layer.gate, &layer.up}, x);
  matmul(s, layer.down, ff);
}

void run_benchmark(benchmark::State& state, DType dtype, int64_t n_tokens) {
  auto device = make_cpu_device({.n_threads = static_cast<int>(state.range(0))});
  if (!device) return state.SkipWithError(device.error().message.c_str());
  const auto stream = (*device)->make_stream();
  const Weights& weights = weights_of(dtype);
  if (weights.layers().empty()) return state.SkipWithError("no memory for the weights");
  std::vector<float> values(static_cast<size_t>(kFf * n_tokens));
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (float& value : values) value = normal(random);
  const auto view = [&](int64_t n) {
    Tensor x;
    x.data = reinterpret_cast<std::byte*>(values.data());
    x.ne = {n, n_tokens, 1, 1};
    return x;
  };
  const Tensor x = view(kEmbd), heads = view(kHeads), ff = view(kFf);
  const auto record = [&] { run_layer(*stream, weights.layers()[0], x, heads, ff); };
  if (!stream->reserve(stream->dry_run(record))) return state.SkipWithError("no memory for the workspace");

  size_t layer = 0;
  for (auto _ : state) {
    run_layer(*stream, weights.layers()[layer], x, heads, ff);
    layer = (layer + 1) % weights.layers().size();
  }
  const double n = static_cast<double>(state.iterations());
  const double weights_per_layer = kEmbd * (kHeads + 2 * kHeadsKv + 2 * kFf) + kHeads * kEmbd + kFf * kEmbd;
  state.counters["GB/s"] =
      benchmark::Counter(n * static_cast<double>(weights.layer_bytes()) * 1e-9, benchmark::Counter::kIsRate);
  state.counters["Gop/s"] = benchmark::Counter(
      n * 2 * weights_per_layer * static_cast<double>(n_tokens) * 1e-9, benchmark::Counter::kIsRate);
}

// The bounds: memory read and added up, products of bytes, of f32 and of bf16.
void measure_bounds(benchmark::State& state) {
  const int n_threads = static_cast<int>(state.range(0));
  Roofline roofline;
  for (auto _ : state) roofline = measure_roofline(available_isas().back(), n_threads);
  state.counters["GB/s"] = roofline.read_bytes_per_second * 1e-9;
  state.counters["int8 Gop/s"] = roofline.int8_ops_per_second * 1e-9;
  state.counters["f32 Gop/s"] = roofline.f32_ops_per_second * 1e-9;
  state.counters["bf16 Gop/s"] = roofline.bf16_ops_per_second * 1e-9;
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
  benchmark::RegisterBenchmark("bounds", measure_bounds)->Apply(add_thread_counts)->Iterations(1);
  for (const DType dtype : kTypes) {
    for (const int64_t n_tokens : {1, 2, 4, 8, 16, 32, 512}) {
      const std::string name =
          fmt::format("{}/{}/tokens:{}", n_tokens == 1 ? "decode" : "prefill", name_of(dtype), n_tokens);
      benchmark::RegisterBenchmark(name.c_str(), run_benchmark, dtype, n_tokens)->Apply(add_thread_counts);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
