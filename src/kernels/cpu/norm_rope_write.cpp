// norm_rope_write on the CPU: what rms_norm, rope and kv_write do to one head after the other.
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows.h"

namespace parlance {

namespace {

// The functions of one instruction set.
struct HeadFunctions {
  NormaliseRow* normalise;
  RotateHead* rotate;
  RowEncoder encode_k;
  RowEncoder encode_v;
};

void prepare_head(const HeadFunctions& f, const NormRopeWriteArgs& args, const Tensor& norm, int64_t token,
                  float* head) {
  const int64_t n_pairs = args.angles.ne[0];
  const float* cosines = args.angles.as<const float>() + token * 2 * n_pairs;
  if (norm) f.normalise(head, norm.as<const float>(), head, args.q.ne[0], args.eps);
  f.rotate(head, cosines, cosines + n_pairs, n_pairs);
}

void multiply(float* x, const float* factors, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= factors[i];
}

void equalise_key(const KvView& kv, int64_t head, float* k) {
  const int64_t n = kv.head_dim_k;
  const float* const shift = kv.k_shift.as<const float>() + head * n;
  for (int64_t i = 0; i < n; ++i) k[i] -= shift[i];
  multiply(k, kv.k_scale.as<const float>() + head * n, n);
}

void prepare_token(const HeadFunctions& f, const NormRopeWriteArgs& args, int64_t token) {
  const KvView& kv = written_view(args.write.kv);
  const int64_t n_head = args.q.ne[1], n_shared = n_head / kv.n_head_kv;
  for (int64_t head = 0; head < n_head; ++head) {
    float* const q = args.q.as<float>() + (token * n_head + head) * kv.head_dim_k;
    prepare_head(f, args, args.q_norm, token, q);
    if (kv.q_scale)
      multiply(q, kv.q_scale.as<const float>() + head / n_shared * kv.head_dim_k, kv.head_dim_k);
  }
  const TokenSlot slot = slot_of(kv, args.write.batch, token);
  for (int64_t head = 0; head < kv.n_head_kv; ++head) {
    const int64_t row = token * kv.n_head_kv + head;
    float* k = args.write.k.as<float>() + row * kv.head_dim_k;
    prepare_head(f, args, args.k_norm, token, k);
    if (kv.k_scale) equalise_key(kv, head, k);
    f.encode_k(k, slot.k_row(kv, head), kv.head_dim_k);
    f.encode_v(args.write.v.as<const float>() + row * kv.head_dim_v, slot.v_row(kv, head), kv.head_dim_v);
  }
}

template <Isa isa>
void run_norm_rope_write(Stream& stream, const NormRopeWriteArgs& args) {
  const KvView& kv = written_view(args.write.kv);
  const HeadFunctions f{normalise_row_of(isa), rotate_head_of(isa, args.style), RowEncoder(isa, kv.k),
                        RowEncoder(isa, kv.v)};
  const int64_t token_elements = (args.q.ne[1] + kv.n_head_kv) * kv.head_dim_k + kv.n_head_kv * kv.head_dim_v;
  parallel_rows(pool_of(stream), args.q.ne[2], 2 * token_elements, [&](int64_t first, int64_t last) {
    for (int64_t token = first; token < last; ++token) prepare_token(f, args, token);
  });
}

}  // namespace

void fill_norm_rope_write(OpTable& table, Isa isa) {
  table.equalises_kv = true;
  for (auto& row : table.norm_rope_write) {
    row.fill({run_norm_rope_write<Isa::scalar>});
    if (isa == Isa::avx2) row.fill({run_norm_rope_write<Isa::avx2>});
    if (is_avx512(isa)) row.fill({run_norm_rope_write<Isa::avx512>});
    if (is_neon(isa)) row.fill({run_norm_rope_write<Isa::neon>});
  }
}

}  // namespace parlance
