#include "verify/operations.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/checked.h"
#include "base/function_ref.h"

namespace parlance::verify {

namespace {

// A stream of a device and tensors on it. The first failure stands for what follows.
class Runner {
 public:
  explicit Runner(Device& device) : device_(device), stream_(device.make_stream()) {}

  Tensor upload(DType dtype, std::array<int64_t, 4> ne, std::span<const std::byte> bytes) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.ne = ne;
    auto buffer = device_.allocate(std::max<size_t>(bytes.size(), 1));
    if (!buffer) {
      if (!error_) error_ = buffer.error();
      return tensor;
    }
    buffers_.push_back(std::move(*buffer));
    tensor.buffer = buffers_.back().get();
    tensor.data = buffers_.back()->base();
    if (!bytes.empty()) stream_->upload(tensor, bytes);
    return tensor;
  }
  Tensor upload(std::array<int64_t, 4> ne, const std::vector<float>& values) {
    return upload(DType::f32, ne, std::as_bytes(std::span(values)));
  }
  Tensor upload(const std::vector<int32_t>& values) {
    return upload(DType::i32, {static_cast<int64_t>(values.size()), 1, 1, 1},
                  std::as_bytes(std::span(values)));
  }
  PackedRows upload(const EncodedRows& rows) {
    const auto row_bytes = static_cast<int64_t>(kv_row_bytes(rows.format, rows.head_dim));
    return {upload(DType::i8, {row_bytes, rows.n_rows, rows.n_head_kv, 1}, rows.bytes), rows.format,
            rows.head_dim};
  }

  // The values of the operation's tensor; empty when the device lacks the kernel.
  Outcome run(FunctionRef<Tensor(Stream&)> operation) {
    Tensor result;
    PARLANCE_TRY(const bool has_kernel, step([&](Stream& s) { result = operation(s); }));
    if (!has_kernel) return std::optional<std::vector<float>>();
    std::vector<float> values(static_cast<size_t>(result.n_elements()));
    PARLANCE_CHECK(stream_->download(std::as_writable_bytes(std::span(values)), result));
    return values;
  }

  // Runs what yields no tensor; false when the device lacks the kernel.
  Result<bool> step(FunctionRef<void(Stream&)> operation) {
    if (error_) return tl::unexpected<Error>(*error_);
    const Plan plan = stream_->dry_run([&] { operation(*stream_); });
    if (!plan.missing.empty()) return false;
    PARLANCE_CHECK(stream_->reserve(plan));
    stream_->step(Stream::kOnce, [&] { operation(*stream_); });
    return true;
  }

  Result<std::vector<std::byte>> download(const Tensor& tensor) {
    std::vector<std::byte> bytes(tensor.size());
    PARLANCE_CHECK(stream_->download(bytes, tensor));
    return bytes;
  }

 private:
  Device& device_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::unique_ptr<Stream> stream_;  // ends before the memory that its operations may use
  std::optional<Error> error_;
};

// A cache of one sequence.
KvView view_of(KvCoding k, KvCoding v, int64_t head_dim_k, int64_t head_dim_v, int64_t n_head_kv,
               int32_t page_tokens) {
  KvView kv;
  kv.page_tokens = page_tokens;
  kv.k = k;
  kv.v = v;
  kv.n_head_kv = n_head_kv;
  kv.head_dim_k = head_dim_k;
  kv.head_dim_v = head_dim_v;
  kv.k_row_bytes = kv_row_bytes(k.format, head_dim_k);
  kv.v_row_bytes = kv_row_bytes(v.format, head_dim_v);
  kv.page_bytes = static_cast<size_t>(n_head_kv * page_tokens) * (kv.k_row_bytes + kv.v_row_bytes);
  return kv;
}

// Puts pages on the device: page i of the sequence is page page_table[i] of the contents.
Tensor upload_pages(Runner& runner, KvView& kv, const std::vector<std::byte>& contents,
                    const std::vector<int32_t>& page_table) {
  const Tensor pages = runner.upload(DType::i8, {static_cast<int64_t>(contents.size()), 1, 1, 1}, contents);
  kv.pages = pages.data;
  kv.buffer = pages.buffer;
  kv.layer_bytes = contents.size();
  kv.page_table = runner.upload(page_table);
  return pages;
}

// Copies a head's encoded rows to where the page table says that its positions are.
void place_rows(const KvView& kv, const std::vector<int32_t>& page_table, const EncodedRows& rows,
                bool is_keys, std::vector<std::byte>& contents) {
  const size_t row_bytes = is_keys ? kv.k_row_bytes : kv.v_row_bytes;
  for (int64_t head = 0; head < rows.n_head_kv; ++head) {
    const size_t offset = is_keys ? kv.k_offset(head) : kv.v_offset(head);
    for (int64_t pos = 0; pos < rows.n_rows; ++pos) {
      const auto page = static_cast<size_t>(page_table[static_cast<size_t>(pos / kv.page_tokens)]);
      const std::byte* from = rows.bytes.data() + static_cast<size_t>(head * rows.n_rows + pos) * row_bytes;
      std::copy_n(from, row_bytes,
                  contents.data() + page * kv.page_bytes + offset +
                      static_cast<size_t>(pos % kv.page_tokens) * row_bytes);
    }
  }
}

Tensor score(Stream& s, const PackedOps& ops, ScoreOperation operation, const Tensor& q,
             const PackedRows& k) {
  switch (operation) {
    case ScoreOperation::qjl:
      return attn_score_qjl(s, ops, q, k);
    case ScoreOperation::qjl_i8:
      return attn_score_qjl(s, ops, q, k, SketchPrecision::i8);
    case ScoreOperation::tbq:
      return attn_score_tbq(s, ops, q, k);
    case ScoreOperation::polar:
      return attn_score_polar(s, ops, q, k);
    case ScoreOperation::polar_preht:
      return attn_score_polar(s, ops, q, k, PolarQuery::hadamard);
    case ScoreOperation::stored:
      break;
  }
  return packed_scores(s, ops, {.q = q, .is_stored = true}, k);
}

PackedMask mask_of(const AttentionCase& c) {
  return {.is_causal = c.is_causal, .q_pos_base = c.q_pos_base};
}

using PackedAttention = Tensor(Stream& s, const Tensor& q, const PackedRows& k, const PackedRows& v);

Outcome packed_attention_of(const TestedDevice& tested, const AttentionCase& c,
                            FunctionRef<PackedAttention> attend) {
  Runner runner(*tested.device);
  const PackedRows k = runner.upload(c.k), v = runner.upload(c.v);
  const auto n = static_cast<int64_t>(c.q.size()) / (c.n_head * c.n_q);
  const Tensor q = runner.upload({n, c.n_head, c.n_q, 1}, c.q);
  return runner.run([&](Stream& s) { return attend(s, q, k, v); });
}

}  // namespace

Result<std::vector<TestedDevice>> cpu_devices(int n_threads) {
  std::vector<TestedDevice> devices;
  for (const Isa isa : available_isas()) {
    PARLANCE_TRY(auto device, make_cpu_device({.n_threads = n_threads, .isa = name_of(isa)}));
    devices.push_back({fmt::format("cpu {}", name_of(isa)), std::move(device), isa});
  }
  return devices;
}

Outcome scores(const TestedDevice& tested, const ScoreCase& c) {
  Runner runner(*tested.device);
  const PackedRows k = runner.upload(c.k);
  const auto n = static_cast<int64_t>(c.q.size()) / (c.n_head * c.n_batch);
  const Tensor q = runner.upload({n, c.n_head, c.n_batch, 1}, c.q);
  return runner.run([&](Stream& s) { return score(s, tested.packed(), c.operation, q, k); });
}

Outcome attention_from_sketches(const TestedDevice& tested, const AttentionCase& c) {
  return packed_attention_of(tested, c,
                             [&](Stream& s, const Tensor& q, const PackedRows& k, const PackedRows& v) {
                               return fused_attn_qjl(s, tested.packed(), q, k, v, c.sm_scale, mask_of(c));
                             });
}

Outcome attention_over_rows(const TestedDevice& tested, const AttentionCase& c) {
  return packed_attention_of(
      tested, c, [&](Stream& s, const Tensor& q, const PackedRows& k, const PackedRows& v) {
        return packed_attention(s, tested.packed(), {.q = q}, k, v, c.sm_scale, mask_of(c));
      });
}

Outcome attention_over_pages(const TestedDevice& tested, const AttentionCase& c, SketchReading reading) {
  constexpr int32_t kPageTokens = 16;
  Runner runner(*tested.device);
  const auto coding = [&](KvFormat format) {
    return KvCoding{.format = format, .least_squares = reading.least_squares};
  };
  KvView kv =
      view_of(coding(c.k.format), coding(c.v.format), c.k.head_dim, c.v.head_dim, c.k.n_head_kv, kPageTokens);
  // The pages lie in reverse, so that a kernel which does not ask the table is found out.
  std::vector<int32_t> page_table(static_cast<size_t>(div_up<int64_t>(c.k.n_rows, kPageTokens)));
  std::iota(page_table.rbegin(), page_table.rend(), 0);
  std::vector<std::byte> contents(page_table.size() * kv.page_bytes);
  place_rows(kv, page_table, c.k, true, contents);
  place_rows(kv, page_table, c.v, false, contents);
  upload_pages(runner, kv, contents, page_table);

  std::vector<int32_t> positions(static_cast<size_t>(c.n_q));
  std::iota(positions.begin(), positions.end(), static_cast<int32_t>(c.q_pos_base));
  const BatchView batch{.seq = runner.upload(std::vector<int32_t>(positions.size(), 0)),
                        .pos = runner.upload(positions),
                        .n_kv_bound = c.k.n_rows};
  const Tensor q = runner.upload({c.k.head_dim, c.n_head, c.n_q, 1}, c.q);
  return runner.run([&](Stream& s) { return attention(s, q, kv, batch, c.sm_scale); });
}

Outcome decoded_rows(const TestedDevice& tested, const EncodedRows& rows) {
  Runner runner(*tested.device);
  const PackedRows table = runner.upload(rows);
  std::vector<int32_t> all(static_cast<size_t>(rows.n_rows));
  std::iota(all.begin(), all.end(), 0);
  const Tensor numbers = runner.upload(all);
  return runner.run([&](Stream& s) { return get_rows(s, tested.packed(), table, numbers); });
}

Outcome products(const TestedDevice& tested, const EncodedRows& rows, const std::vector<float>& x) {
  Runner runner(*tested.device);
  const PackedRows table = runner.upload(rows);
  const Tensor vectors =
      runner.upload({rows.head_dim, static_cast<int64_t>(x.size()) / rows.head_dim, 1, 1}, x);
  return runner.run([&](Stream& s) { return mul_mv(s, tested.packed(), table, vectors); });
}

WrittenRows written_rows(const TestedDevice& tested, KvFormat format, int64_t head_dim,
                         const std::vector<float>& x) {
  Runner runner(*tested.device);
  const int64_t n_rows = static_cast<int64_t>(x.size()) / head_dim;
  const KvCoding coding{.format = format, .encoder = KvEncoder::compatible, .least_squares = false};
  // One page that takes all: the keys come first in it.
  KvView kv = view_of(coding, coding, head_dim, head_dim, 1, static_cast<int32_t>(n_rows));
  const Tensor pages = upload_pages(runner, kv, std::vector<std::byte>(kv.page_bytes), {0});
  std::vector<int32_t> positions(static_cast<size_t>(n_rows));
  std::iota(positions.begin(), positions.end(), 0);
  const BatchView batch{.seq = runner.upload(std::vector<int32_t>(positions.size(), 0)),
                        .pos = runner.upload(positions),
                        .n_kv_bound = n_rows};
  const Tensor vectors = runner.upload({head_dim, 1, n_rows, 1}, x);
  PARLANCE_TRY(const bool has_kernel,
               runner.step([&](Stream& s) { kv_write(s, kv, vectors, vectors, batch); }));
  if (!has_kernel) return std::optional<std::vector<std::byte>>();
  PARLANCE_TRY(std::vector<std::byte> bytes, runner.download(pages));
  bytes.resize(static_cast<size_t>(n_rows) * kv.k_row_bytes);
  return bytes;
}

}  // namespace parlance::verify
