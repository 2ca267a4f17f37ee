// attention on the CPU: the definition, and which kernel serves which format on which instruction set.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"

namespace parlance {

namespace {

// Address of the row (of keys, or of values) at a position of a sequence.
struct RowWalk {
  const KvView& kv;
  const int32_t* pages;  // of the sequence
  size_t offset;         // in a page, of the head's first row
  size_t row_bytes;

  const std::byte* row(int64_t pos) const {
    return kv.pages + static_cast<size_t>(pages[pos / kv.page_tokens]) * kv.page_bytes + offset +
           static_cast<size_t>(pos % kv.page_tokens) * row_bytes;
  }
};

size_t scratch_scalar(const AttentionArgs& args, int n_threads) {
  const auto row = static_cast<size_t>(args.kv.head_dim_k + args.kv.head_dim_v + args.batch.n_kv_bound);
  return static_cast<size_t>(n_threads) * row * sizeof(float);
}

// One query head of one token: scores of all that it sees, their softmax, the weighted sum of the values.
void attend(const AttentionArgs& args, int64_t token, int64_t head, float* scratch) {
  const KvView& kv = args.kv;
  const int64_t n_head = args.q.ne[1];
  const int64_t head_kv = head / (n_head / kv.n_head_kv);
  const int64_t n_keys = args.batch.pos.as<const int32_t>()[token] + int64_t{1};
  const int32_t* pages =
      kv.page_table.as<const int32_t>() + args.batch.seq.as<const int32_t>()[token] * kv.page_table.ne[0];
  const RowWalk keys{kv, pages, kv.k_offset(head_kv), kv.k_row_bytes};
  const RowWalk values{kv, pages, kv.v_offset(head_kv), kv.v_row_bytes};
  const float* q = args.q.as<const float>() + (token * n_head + head) * kv.head_dim_k;
  float* out = args.out.as<float>() + (token * n_head + head) * kv.head_dim_v;
  float* k = scratch;
  float* v = k + kv.head_dim_k;
  float* weights = v + kv.head_dim_v;

  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t pos = 0; pos < n_keys; ++pos) {
    traits(kv.k_format).decode_row(keys.row(pos), k, kv.head_dim_k);
    double score = 0;
    for (int64_t i = 0; i < kv.head_dim_k; ++i)
      score += static_cast<double>(q[i]) * static_cast<double>(k[i]);
    weights[pos] = static_cast<float>(score) * args.scale;
    largest = std::max(largest, weights[pos]);
  }

  double sum = 0;
  for (int64_t pos = 0; pos < n_keys; ++pos) {
    weights[pos] = std::exp(weights[pos] - largest);
    sum += static_cast<double>(weights[pos]);
  }

  std::fill_n(out, kv.head_dim_v, 0.0f);
  for (int64_t pos = 0; pos < n_keys; ++pos) {
    traits(kv.v_format).decode_row(values.row(pos), v, kv.head_dim_v);
    for (int64_t i = 0; i < kv.head_dim_v; ++i) out[i] += weights[pos] * v[i];
  }
  for (int64_t i = 0; i < kv.head_dim_v; ++i) out[i] /= static_cast<float>(sum);
}

void run_scalar(Stream& stream, const AttentionArgs& args) {
  const int64_t n_head = args.q.ne[1];
  const size_t per_thread = scratch_scalar(args, 1);
  pool_of(stream).run(args.q.ne[2] * n_head, [&](int64_t task, int thread) {
    auto* scratch =
        reinterpret_cast<float*>(stream.scratch().data() + static_cast<size_t>(thread) * per_thread);
    attend(args, task / n_head, task % n_head, scratch);
  });
}

Cell<AttentionArgs> cell_for([[maybe_unused]] Isa isa) {
#if PARLANCE_X86
  if (isa == Isa::avx2) return attention::cell<attention::kAvx2>();
  if (isa == Isa::avx512 || isa == Isa::avx512_bf16) return attention::cell<attention::kAvx512>();
#elif PARLANCE_NEON
  if (is_neon(isa)) return attention::cell<attention::kNeon>();
#endif
  return {run_scalar, scratch_scalar};
}

}  // namespace

void fill_attention(OpTable& table, Isa isa) {
  for (auto& row : table.attention) row.fill(cell_for(isa));
}

}  // namespace parlance
