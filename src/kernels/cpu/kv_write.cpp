// kv_write and kv_compress on the CPU: encode head vectors into pages.
#include <cassert>
#include <vector>

#include "base/checked.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/kv_rows/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows.h"
#include "quant/float_rows.h"

namespace parlance {

namespace {

template <Isa isa>
void run_kv_write(Stream& stream, const KvWriteArgs& args) {
  const KvView& kv = written_view(args.kv);
  const RowEncoder encode_k(isa, kv.k), encode_v(isa, kv.v);
  const auto* k = args.k.as<const float>();
  const auto* v = args.v.as<const float>();
  const int64_t token_elements = kv.n_head_kv * (kv.head_dim_k + kv.head_dim_v);
  parallel_rows(pool_of(stream), args.k.ne[2], token_elements, [&](int64_t first, int64_t last) {
    for (int64_t token = first; token < last; ++token) {
      const TokenSlot slot = slot_of(kv, args.batch, token);
      for (int64_t head = 0; head < kv.n_head_kv; ++head) {
        const int64_t row = token * kv.n_head_kv + head;
        encode_k(k + row * kv.head_dim_k, slot.k_row(kv, head), kv.head_dim_k);
        encode_v(v + row * kv.head_dim_v, slot.v_row(kv, head), kv.head_dim_v);
      }
    }
  });
}

// One side of one head of a page: rows of f16, the exact format.
void compress_rows(const RowEncoder& encode, const std::byte* from, std::byte* to, int64_t n_rows,
                   size_t from_bytes, size_t to_bytes, int64_t head_dim, float* x) {
  for (int64_t row = 0; row < n_rows; ++row, from += from_bytes, to += to_bytes) {
    decode_row_f16(from, x, head_dim);
    encode(x, to, head_dim);
  }
}

// Floats of scratch memory for each thread.
int64_t widest_head(const KvView& kv) {
  return align_up(std::max(kv.head_dim_k, kv.head_dim_v), int64_t{16});
}

size_t scratch_of_compress(const KvCompressArgs& args, int n_threads) {
  return static_cast<size_t>(n_threads * widest_head(args.kv)) * sizeof(float);
}

template <Isa isa>
void run_kv_compress(Stream& stream, const KvCompressArgs& args) {
  const KvView& kv = args.kv;
  const KvView& exact = *kv.exact;
  assert(exact.k.format == KvFormat::f16 && exact.v.format == KvFormat::f16);
  const RowEncoder encode_k(isa, kv.k), encode_v(isa, kv.v);
  const auto* moves = args.moves.as<const int32_t>();
  pool_of(stream).run(args.moves.ne[1] * kv.n_head_kv, [&](int64_t task, int thread) {
    const int32_t* move = moves + 2 * (task / kv.n_head_kv);
    const int64_t head = task % kv.n_head_kv;
    const std::byte* from = exact.pages + static_cast<size_t>(move[0]) * exact.page_bytes;
    std::byte* to = kv.pages + static_cast<size_t>(move[1]) * kv.page_bytes;
    float* x = reinterpret_cast<float*>(stream.scratch().data()) + thread * widest_head(kv);
    compress_rows(encode_k, from + exact.k_offset(head), to + kv.k_offset(head), kv.page_tokens,
                  exact.k_row_bytes, kv.k_row_bytes, kv.head_dim_k, x);
    compress_rows(encode_v, from + exact.v_offset(head), to + kv.v_offset(head), kv.page_tokens,
                  exact.v_row_bytes, kv.v_row_bytes, kv.head_dim_v, x);
  });
}

const kv_rows::Encoders* encoders_of([[maybe_unused]] Isa isa) {
#if PARLANCE_X86
  if (isa == Isa::avx2) return &kv_rows::kAvx2;
  if (is_avx512(isa)) return &kv_rows::kAvx512;
#elif PARLANCE_NEON
  if (is_neon(isa)) return &kv_rows::kNeon;
#endif
  return nullptr;
}

kv_rows::EncodeRow* encode_row_of(Isa isa, const KvCoding& coding) {
  const kv_rows::Encoders* encoders = encoders_of(isa);
  if (encoders && encoders->of(coding)) return encoders->of(coding);
  return coding.encoder == KvEncoder::search ? traits(coding.format).search_row
                                             : traits(coding.format).encode_row;
}

}  // namespace

RowEncoder::RowEncoder(Isa isa, const KvCoding& coding)
    : encode_(encode_row_of(isa, coding)),
      to_stored_(coding.transform() == KvTransform::hadamard ? to_stored_of(isa) : nullptr) {}

void RowEncoder::operator()(const float* x, std::byte* out, int64_t n) const {
  if (!to_stored_) return encode_(x, out, n);
  thread_local std::vector<float> rotated;
  rotated.resize(static_cast<size_t>(n));
  to_stored_(KvTransform::hadamard, x, rotated.data(), n);
  encode_(rotated.data(), out, n);
}

TokenSlot slot_of(const KvView& kv, const BatchView& batch, int64_t token) {
  const int64_t pos = batch.pos.as<const int32_t>()[token];
  const int64_t seq = batch.seq.as<const int32_t>()[token];
  const int32_t page = kv.page_table.as<const int32_t>()[seq * kv.page_table.ne[0] + pos / kv.page_tokens];
  return {kv.pages + static_cast<size_t>(page) * kv.page_bytes, pos % kv.page_tokens};
}

void fill_kv_write(OpTable& table, Isa isa) {
  const auto fill = [&table](auto write, auto compress) {
    for (auto& row : table.kv_write) row.fill({write});
    for (auto& row : table.kv_compress) row.fill({compress, scratch_of_compress});
  };
  table.transforms_kv = true;
  fill(run_kv_write<Isa::scalar>, run_kv_compress<Isa::scalar>);
  if (isa == Isa::avx2) fill(run_kv_write<Isa::avx2>, run_kv_compress<Isa::avx2>);
  if (is_avx512(isa)) fill(run_kv_write<Isa::avx512>, run_kv_compress<Isa::avx512>);
  if (is_neon(isa)) fill(run_kv_write<Isa::neon>, run_kv_compress<Isa::neon>);
}

}  // namespace parlance
