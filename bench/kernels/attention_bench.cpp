// Speed of attention on a layer of Qwen3-0.6B (16 query heads, 8 KV heads, 128 wide), by cache format: decode
// (one token) against the bandwidth with which this machine reads memory, drafts and small pieces of prompts
// (8 and 32 tokens) and prefill in operations against its f32 peak. One layer follows the other through a
// cache that is larger than the processor's. Formats are those of keys and of values: each with itself, and
// some pairs.
//
//   attention_bench --benchmark_filter='f16/f16/keys:16384/tokens:1/' --benchmark_min_time=2
//
// PARLANCE_ISA chooses another instruction set than the best.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "base/os/thread.h"
#include "base/thread_pool.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/roofline.h"
#include "kernels/ops.h"

namespace parlance {
namespace {

constexpr int64_t kHeads = 16, kHeadsKv = 8, kHeadDim = 128;
constexpr int32_t kPageTokens = 64;
constexpr size_t kCacheBytes = size_t{256} << 20;  // beyond the largest caches

// One sequence of n_keys positions in as many layers as fill kCacheBytes, and a batch of its last tokens.
class Setting {
 public:
  Setting(Device& device, Stream& stream, KvFormat format_k, KvFormat format_v, int64_t n_keys,
          int64_t n_tokens) {
    const int64_t n_pages = div_up<int64_t>(n_keys, kPageTokens);
    kv.page_tokens = kPageTokens;
    kv.k.format = format_k;
    kv.v.format = format_v;
    kv.n_head_kv = kHeadsKv;
    kv.head_dim_k = kv.head_dim_v = kHeadDim;
    kv.k_row_bytes = kv_row_bytes(format_k, kHeadDim);
    kv.v_row_bytes = kv_row_bytes(format_v, kHeadDim);
    kv.page_bytes = kHeadsKv * kPageTokens * (kv.k_row_bytes + kv.v_row_bytes);
    kv.layer_bytes = static_cast<size_t>(n_pages) * kv.page_bytes;
    n_layers = static_cast<int64_t>(kCacheBytes / kv.layer_bytes) + 1;
    layer_bytes_read = static_cast<size_t>(n_keys) * kHeadsKv * (kv.k_row_bytes + kv.v_row_bytes);

    std::vector<int32_t> pages(static_cast<size_t>(n_pages)), places(static_cast<size_t>(n_keys));
    std::iota(pages.begin(), pages.end(), 0);
    std::iota(places.begin(), places.end(), 0);
    kv.page_table = upload(device, stream, DType::i32, {n_pages, 1, 1, 1}, pages);
    const std::vector<int32_t> zeros(static_cast<size_t>(n_keys), 0);
    const BatchView all{.seq = upload(device, stream, DType::i32, {n_keys, 1, 1, 1}, zeros),
                        .pos = upload(device, stream, DType::i32, {n_keys, 1, 1, 1}, places),
                        .n_kv_bound = n_keys};
    std::byte* pages_of_all = memory(device, static_cast<size_t>(n_layers) * kv.layer_bytes);
    std::vector<KvView> views(static_cast<size_t>(n_layers), kv);
    for (int64_t layer = 0; layer < n_layers; ++layer) {
      views[static_cast<size_t>(layer)].pages = pages_of_all + static_cast<size_t>(layer) * kv.layer_bytes;
    }
    layers = KvLayers(kv.page_table, views);

    // Some encoders are slow: all pages are copies of the first.
    const int64_t n_written = std::min<int64_t>(kPageTokens, n_keys);
    const Tensor rows =
        upload(device, stream, DType::f32, {kHeadDim, kHeadsKv, n_written, 1}, noise(n_written * kHeadsKv));
    BatchView first_page = all;
    first_page.seq.ne[0] = first_page.pos.ne[0] = n_written;
    kv_write(stream, layers.layer(0), rows, rows, first_page);
    for (int64_t page = 1; page < n_layers * n_pages; ++page) {
      std::memcpy(pages_of_all + static_cast<size_t>(page) * kv.page_bytes, pages_of_all, kv.page_bytes);
    }

    batch = all;
    batch.seq.ne = batch.pos.ne = {n_tokens, 1, 1, 1};
    batch.pos.data += static_cast<size_t>(n_keys - n_tokens) * sizeof(int32_t);
    q = upload(device, stream, DType::f32, {kHeadDim, kHeads, n_tokens, 1}, noise(n_tokens * kHeads));
  }

  KvView kv;
  KvLayers layers;
  BatchView batch;
  Tensor q;
  int64_t n_layers = 0;
  size_t layer_bytes_read = 0;

 private:
  std::byte* memory(Device& device, size_t bytes) {
    buffers_.push_back(std::move(device.allocate(bytes).value()));
    return buffers_.back()->base();
  }

  template <class T>
  Tensor upload(Device& device, Stream& stream, DType dtype, std::array<int64_t, 4> ne,
                const std::vector<T>& values) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.ne = ne;
    tensor.data = memory(device, tensor.size());
    stream.upload(tensor, std::as_bytes(std::span(values)));
    return tensor;
  }

  static std::vector<float> noise(int64_t n_rows) {
    std::vector<float> values(static_cast<size_t>(n_rows * kHeadDim));
    std::mt19937 random(1);
    for (float& value : values) value = static_cast<float>(random()) * 0x1p-31f - 1;
    return values;
  }

  std::vector<std::unique_ptr<Buffer>> buffers_;
};

void run_benchmark(benchmark::State& state, KvFormat format_k, KvFormat format_v, int64_t n_keys,
                   int64_t n_tokens) {
  const auto n_threads = static_cast<int>(state.range(0));
  auto device = make_cpu_device({.n_threads = n_threads});
  if (!device) return state.SkipWithError(device.error().message.c_str());
  const auto stream = (*device)->make_stream();
  const Setting setting(**device, *stream, format_k, format_v, n_keys, n_tokens);
  int64_t layer = 0;
  const auto attend = [&] {
    const Frame frame(*stream);
    attention(*stream, setting.q, setting.layers.layer(layer), setting.batch, 1 / std::sqrt(float{kHeadDim}));
  };
  if (!stream->reserve(stream->dry_run(attend))) return state.SkipWithError("no memory for the workspace");

  for (auto _ : state) {
    attend();
    layer = (layer + 1) % setting.n_layers;
  }
  using benchmark::Counter;
  const auto n = static_cast<double>(state.iterations());
  const auto seen = static_cast<double>(n_tokens) * (static_cast<double>(2 * n_keys - n_tokens) + 1) / 2;
  const Roofline bound = measure_roofline(*choose_isa(), n_threads);
  state.counters["GB/s"] =
      Counter(n * static_cast<double>(setting.layer_bytes_read) * 1e-9, Counter::kIsRate);
  state.counters["of_GB/s"] = bound.read_bytes_per_second * 1e-9;
  state.counters["Gop/s"] = Counter(n * seen * kHeads * kHeadDim * 4e-9, Counter::kIsRate);
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
  std::vector<std::pair<KvFormat, KvFormat>> pairs;
  for (size_t id = 0; id < kKvFormatCount; ++id) {
    pairs.emplace_back(static_cast<KvFormat>(id), static_cast<KvFormat>(id));
  }
  pairs.emplace_back(KvFormat::qjl1_256, KvFormat::tbq3_0);
  pairs.emplace_back(KvFormat::q8_0, KvFormat::tbq4_0);
  for (const auto& [k, v] : pairs) {
    for (const auto& [n_keys, n_tokens] : {std::pair{512, 1},
                                           {4096, 1},
                                           {4096, 8},
                                           {4096, 32},
                                           {16384, 1},
                                           {512, 512},
                                           {4096, 512},
                                           {16384, 512}}) {
      const std::string name =
          fmt::format("{}/{}/keys:{}/tokens:{}", name_of(k), name_of(v), n_keys, n_tokens);
      benchmark::RegisterBenchmark(name.c_str(), run_benchmark, k, v, n_keys, n_tokens)
          ->Apply(add_thread_counts);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
