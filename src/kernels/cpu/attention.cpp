// attention on the CPU: the definition, and which kernel serves which format on which instruction set.
#include <algorithm>
#include <array>
#include <cmath>

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

// Positions of a sequence that lie in pages of one kind.
struct SegmentRange {
  const KvView* kv;
  int64_t first, last;
};

// The segments of a sequence from first_key to before n_keys.
std::array<SegmentRange, 3> segments_of(const KvView& kv, int64_t sequence, int64_t first_key,
                                        int64_t n_keys) {
  if (!kv.exact) return {{{&kv, first_key, n_keys}, {&kv, 0, 0}, {&kv, 0, 0}}};
  const int32_t* main_pages = kv.main_pages.as<const int32_t>() + 2 * sequence;
  const int64_t first = std::clamp<int64_t>(int64_t{main_pages[0]} * kv.page_tokens, first_key, n_keys);
  const int64_t last = std::clamp<int64_t>(int64_t{main_pages[1]} * kv.page_tokens, first, n_keys);
  return {{{kv.exact, first_key, first}, {&kv, first, last}, {kv.exact, last, n_keys}}};
}

// Most stored values of a key or value.
int64_t widest_row(const KvView& kv) {
  const int64_t own = std::max(stored_elements(kv.k.transform(), kv.head_dim_k),
                               stored_elements(kv.v.transform(), kv.head_dim_v));
  return kv.exact ? std::max(own, widest_row(*kv.exact)) : own;
}

size_t scratch_scalar(const AttentionArgs& args, int n_threads) {
  const auto row = static_cast<size_t>(4 * widest_row(args.kv) + args.batch.n_kv_bound);
  return static_cast<size_t>(n_threads) * row * sizeof(float);
}

// scores[pos] = scale q . k for the positions of a segment, or NaN where that is infinite: with minus
// infinity a key would have no weight, and that it is damaged would not show. `query` and `stored` are
// temporary.
void score_segment(const AttentionArgs& args, const SegmentRange& range, const RowWalk& keys, const float* q,
                   float* query, float* stored, float* scores) {
  const KvCoding& k = range.kv->k;
  const int64_t n = stored_elements(k.transform(), args.kv.head_dim_k);
  to_stored(k.transform(), q, query, args.kv.head_dim_k);
  for (int64_t pos = range.first; pos < range.last; ++pos) {
    traits(k.format).decode_stored_row(keys.row(pos), stored, args.kv.head_dim_k);
    double score = 0;
    for (int64_t i = 0; i < n; ++i) score += static_cast<double>(query[i]) * static_cast<double>(stored[i]);
    const auto product = static_cast<float>(score);
    scores[pos] = (product + 0 * product) * args.scale;
  }
}

// out += sum of weights[pos] v over a segment; `sum` and `stored` are temporary.
void accumulate_segment(const AttentionArgs& args, const SegmentRange& range, const RowWalk& values,
                        const float* weights, float* sum, float* stored, float* out) {
  if (range.first == range.last) return;
  const KvCoding& v = range.kv->v;
  const int64_t n = stored_elements(v.transform(), args.kv.head_dim_v);
  std::fill_n(sum, n, 0.0f);
  for (int64_t pos = range.first; pos < range.last; ++pos) {
    traits(v.format).decode_stored_row(values.row(pos), stored, args.kv.head_dim_v);
    for (int64_t i = 0; i < n; ++i) sum[i] += weights[pos] * stored[i];
  }
  from_stored(v.transform(), sum, stored, args.kv.head_dim_v);
  for (int64_t i = 0; i < args.kv.head_dim_v; ++i) out[i] += stored[i];
}

// One query head of one token: scores of all that it sees, their softmax, the weighted sum of the values.
void attend(const AttentionArgs& args, int64_t token, int64_t head, float* scratch) {
  const KvView& kv = args.kv;
  const int64_t n_head = args.q.ne[1];
  const int64_t head_kv = head / (n_head / kv.n_head_kv);
  const int64_t first_key = args.batch.first ? args.batch.first.as<const int32_t>()[token] : 0;
  const int64_t n_keys = args.batch.pos.as<const int32_t>()[token] + int64_t{1};
  const int64_t sequence = args.batch.seq.as<const int32_t>()[token];
  const auto segments = segments_of(kv, sequence, first_key, n_keys);
  const auto walk = [&](const KvView& view, size_t offset, size_t row_bytes) {
    return RowWalk{view, view.page_table.as<const int32_t>() + sequence * view.page_table.ne[0], offset,
                   row_bytes};
  };
  const float* q = args.q.as<const float>() + (token * n_head + head) * kv.head_dim_k;
  float* out = args.out.as<float>() + (token * n_head + head) * kv.head_dim_v;
  float* query = scratch;
  float* stored = query + 2 * widest_row(kv);
  float* weights = stored + 2 * widest_row(kv);

  for (const SegmentRange& range : segments) {
    const RowWalk keys = walk(*range.kv, range.kv->k_offset(head_kv), range.kv->k_row_bytes);
    score_segment(args, range, keys, q, query, stored, weights);
  }
  const float largest = *std::max_element(weights + first_key, weights + n_keys);
  double sum = 0;
  for (int64_t pos = first_key; pos < n_keys; ++pos) {
    weights[pos] = std::exp(weights[pos] - largest);
    sum += static_cast<double>(weights[pos]);
  }
  std::fill_n(out, kv.head_dim_v, 0.0f);
  for (const SegmentRange& range : segments) {
    const RowWalk values = walk(*range.kv, range.kv->v_offset(head_kv), range.kv->v_row_bytes);
    accumulate_segment(args, range, values, weights, query, stored, out);
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

#if PARLANCE_X86
bool has_vbmi() {
  return __builtin_cpu_supports("avx512vbmi") > 0;
}
#endif

struct Choice {
  const attention::Kernels* kernels = nullptr;  // null: the scalar definition serves the set
  Cell<AttentionArgs> cell = {run_scalar, scratch_scalar};
};

template <const attention::Kernels& kernels>
Choice choice_of() {
  return {&kernels, attention::cell<kernels>()};
}

Choice choose([[maybe_unused]] Isa isa, [[maybe_unused]] bool deterministic) {
#if PARLANCE_X86
  if (isa == Isa::avx2) return choice_of<attention::kAvx2>();
  if (is_avx512(isa)) {
    if (deterministic) return choice_of<attention::kDeterministicAvx512>();
    if (isa == Isa::avx512_amx) return choice_of<attention::kAmx>();
    return has_vbmi() ? choice_of<attention::kAvx512Vbmi>() : choice_of<attention::kAvx512>();
  }
#elif PARLANCE_NEON
  if (is_neon(isa)) return choice_of<attention::kNeon>();
#endif
  return {};
}

}  // namespace

void fill_attention(OpTable& table, Isa isa, bool deterministic) {
  const Choice choice = choose(isa, deterministic);
  for (size_t k = 0; k < kKvFormatCount; ++k) {
    for (size_t v = 0; v < kKvFormatCount; ++v) {
      const attention::Kernels* kernels = choice.kernels;
      if (kernels && !(kernels->few[k].keys.score && kernels->few[v].values.accumulate)) continue;
      table.attention[k][v] = choice.cell;
    }
  }
}

}  // namespace parlance
