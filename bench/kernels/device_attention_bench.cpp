// Speed of attention alone on any device, by cache format, depth and rows: one layer of 32 query and 8 KV
// heads of 128, in recorded steps as the engine runs them. Layers follow each other through more keys than
// caches hold, whose pages lie in random order. Printed as one JSON object a line.
//
//   device_attention_bench --device cuda:0 [--pair f16/f16] [--keys 524288] [--rows 16]
#include <charconv>
#include <cmath>
#include <numeric>
#include <span>
#include <string>

#include "base/checked.h"
#include "kernels/device_bench.h"

namespace parlance {
namespace {

constexpr int64_t kHeads = 32, kHeadsKv = 8, kHeadDim = 128;
constexpr int32_t kPageTokens = 64;
constexpr size_t kPoolBytes = size_t{1} << 30;  // of keys and values: beyond the largest caches
constexpr size_t kStepBytes = size_t{4} << 30;  // that a step reads, about
constexpr int kSteps = 9;                       // of which the median counts

constexpr std::pair<KvFormat, KvFormat> kPairs[] = {
    {KvFormat::f16, KvFormat::f16},           {KvFormat::q8_0, KvFormat::q8_0},
    {KvFormat::q8_0, KvFormat::tbq4_0},       {KvFormat::q4_0, KvFormat::q4_0},
    {KvFormat::tbq4_0, KvFormat::tbq4_0},     {KvFormat::tbq3_0, KvFormat::tbq3_0},
    {KvFormat::tbq3_tcq, KvFormat::tbq3_tcq}, {KvFormat::q4_polar, KvFormat::q4_polar},
    {KvFormat::qjl1_256, KvFormat::tbq3_0}};
constexpr int64_t kKeys[] = {4096, 8192, 32768, 131072}, kRows[] = {1, 16};

class Bench : public DeviceBench {
 public:
  explicit Bench(std::unique_ptr<Device> device) : DeviceBench(std::move(device), kPoolBytes, kSteps) {}

  struct Time {
    double seconds, least_seconds;
    size_t bytes;  // of keys and values
  };

  // Of one layer's attention.
  Result<Time> time_attention(KvFormat k, KvFormat v, int64_t n_keys, int64_t n_rows) {
    KvView kv;
    const int64_t n_pages = div_up<int64_t>(n_keys, kPageTokens);
    kv.page_tokens = kPageTokens;
    kv.k.format = k;
    kv.v.format = v;
    kv.n_head_kv = kHeadsKv;
    kv.head_dim_k = kv.head_dim_v = kHeadDim;
    kv.k_row_bytes = kv_row_bytes(k, kHeadDim);
    kv.v_row_bytes = kv_row_bytes(v, kHeadDim);
    kv.page_bytes = kHeadsKv * kPageTokens * (kv.k_row_bytes + kv.v_row_bytes);
    kv.layer_bytes = static_cast<size_t>(n_pages) * kv.page_bytes;
    kv.buffer = pool_.get();
    if (kv.layer_bytes > kPoolBytes || n_rows > n_keys) {
      return fail(
          ErrorCode::invalid_argument,
          "{} keys of a layer take {} bytes, for {} rows: expected at most {} bytes, and no more rows "
          "than keys",
          n_keys, kv.layer_bytes, n_rows, kPoolBytes);
    }
    const size_t n_layers = kPoolBytes / kv.layer_bytes;

    inputs_.clear();
    std::vector<int32_t> pages(static_cast<size_t>(n_pages)), rows(static_cast<size_t>(n_rows));
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), std::mt19937(2));
    PARLANCE_TRY(kv.page_table, upload(DType::i32, {n_pages, 1, 1, 1}, pages));
    PARLANCE_TRY(const Tensor seq, upload(DType::i32, {n_rows, 1, 1, 1}, rows));
    std::iota(rows.begin(), rows.end(), static_cast<int32_t>(n_keys - n_rows));
    PARLANCE_TRY(const Tensor pos, upload(DType::i32, {n_rows, 1, 1, 1}, rows));
    const BatchView batch{
        .seq = seq, .pos = pos, .n_kv_bound = n_keys, .least_rows = n_rows, .most_rows = n_rows};
    std::vector<float> values(static_cast<size_t>(kHeadDim * kHeads * n_rows));
    std::mt19937 random(3);
    for (float& value : values) value = static_cast<float>(random()) * 0x1p-31f - 1;
    PARLANCE_TRY(const Tensor q, upload(DType::f32, {kHeadDim, kHeads, n_rows, 1}, values));

    const size_t n_calls = std::clamp<size_t>(kStepBytes / kv.layer_bytes, 8, 400);
    const auto record = [&] {
      for (size_t i = 0; i < n_calls; ++i) {
        const Frame frame(*stream_);
        KvView layer = kv;
        layer.pages = pool_->base() + i % n_layers * kv.layer_bytes;
        attention(*stream_, q, layer, batch, 1 / std::sqrt(float{kHeadDim}));
      }
    };
    PARLANCE_TRY(const auto times, sorted_step_times(record));
    const auto n = static_cast<double>(n_calls);
    return Time{median(times) / n, times.front() / n,
                static_cast<size_t>(n_keys) * kHeadsKv * (kv.k_row_bytes + kv.v_row_bytes)};
  }

 private:
  template <class T>
  Result<Tensor> upload(DType dtype, std::array<int64_t, 4> ne, const std::vector<T>& values) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.ne = ne;
    PARLANCE_TRY(auto buffer, device_->allocate(tensor.size()));
    tensor.buffer = buffer.get();
    tensor.data = buffer->base();
    inputs_.push_back(std::move(buffer));
    stream_->upload(tensor, std::as_bytes(std::span(values)));
    return tensor;
  }

  std::vector<std::unique_ptr<Buffer>> inputs_;
};

// What is timed; empty: everything.
struct Choice {
  std::string_view pair, keys, rows;
};

// The number that is chosen, or all of the usual ones.
Result<std::vector<int64_t>> numbers_of(std::string_view name, std::string_view chosen,
                                        std::span<const int64_t> usual) {
  if (chosen.empty()) return std::vector<int64_t>(usual.begin(), usual.end());
  int64_t n = 0;
  const auto [end, error] = std::from_chars(chosen.data(), chosen.data() + chosen.size(), n);
  if (error != std::errc() || end != chosen.data() + chosen.size() || n < 1)
    return fail(ErrorCode::invalid_argument, "{} {}: expected a number above 0", name, chosen);
  return std::vector<int64_t>{n};
}

Result<void> run(std::string_view device_name, const Choice& choice) {
  PARLANCE_TRY(const auto all_keys, numbers_of("--keys", choice.keys, kKeys));
  PARLANCE_TRY(const auto all_rows, numbers_of("--rows", choice.rows, kRows));
  PARLANCE_TRY(auto device, make_device(device_name, 0));
  Bench bench(std::move(device));
  PARLANCE_CHECK(bench.prepare());
  for (const auto& [k, v] : kPairs) {
    const std::string pair = fmt::format("{}/{}", name_of(k), name_of(v));
    if (!choice.pair.empty() && choice.pair != pair) continue;
    for (const int64_t n_keys : all_keys) {
      for (const int64_t n_rows : all_rows) {
        PARLANCE_TRY(const Bench::Time time, bench.time_attention(k, v, n_keys, n_rows));
        fmt::print(
            R"({{"pair": "{}", "keys": {}, "rows": {}, "seconds": {:.4g}, "least_seconds": {:.4g}, "bytes": {}}})"
            "\n",
            pair, n_keys, n_rows, time.seconds, time.least_seconds, time.bytes);
        std::fflush(stdout);
      }
    }
  }
  return {};
}

}  // namespace
}  // namespace parlance

int main(int argc, char** argv) {
  parlance::Choice choice;
  return parlance::run_device_bench(
      "device_attention_bench", argc, argv,
      {{"--pair", &choice.pair}, {"--keys", &choice.keys}, {"--rows", &choice.rows}},
      [&](std::string_view device) { return parlance::run(device, choice); });
}
