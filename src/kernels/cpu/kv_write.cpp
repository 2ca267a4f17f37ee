// kv_write on the CPU: encodes the head vectors of each token into the page that holds its position.
#include <cassert>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace parlance {

namespace {

using EncodeRow = void(const float* x, std::byte* out, int64_t n);

template <Isa isa>
EncodeRow* encoder(KvFormat format) {
  return traits(format).encode_row;
}

struct TokenSlot {
  std::byte* page;
  int64_t slot;  // row within each head's run
};

TokenSlot slot_of(const KvView& kv, const BatchView& batch, int64_t token) {
  const int64_t pos = batch.pos.as<const int32_t>()[token];
  const int64_t seq = batch.seq.as<const int32_t>()[token];
  const int32_t page = kv.page_table.as<const int32_t>()[seq * kv.page_table.ne[0] + pos / kv.page_tokens];
  return {kv.pages + static_cast<size_t>(page) * kv.page_bytes, pos % kv.page_tokens};
}

template <Isa isa>
void run_kv_write(Stream& stream, const KvWriteArgs& args) {
  const KvView& kv = args.kv;
  EncodeRow* const encode_k = encoder<isa>(kv.k_format);
  EncodeRow* const encode_v = encoder<isa>(kv.v_format);
  const auto* k = args.k.as<const float>();
  const auto* v = args.v.as<const float>();
  const int64_t token_elements = kv.n_head_kv * (kv.head_dim_k + kv.head_dim_v);
  parallel_rows(pool_of(stream), args.k.ne[2], token_elements, [&](int64_t first, int64_t last) {
    for (int64_t token = first; token < last; ++token) {
      const auto [page, slot] = slot_of(kv, args.batch, token);
      for (int64_t head = 0; head < kv.n_head_kv; ++head) {
        const int64_t row = token * kv.n_head_kv + head;
        encode_k(k + row * kv.head_dim_k,
                 page + kv.k_offset(args.layer, head) + static_cast<size_t>(slot) * kv.k_row_bytes,
                 kv.head_dim_k);
        encode_v(v + row * kv.head_dim_v,
                 page + kv.v_offset(args.layer, head) + static_cast<size_t>(slot) * kv.v_row_bytes,
                 kv.head_dim_v);
      }
    }
  });
}

}  // namespace

void fill_kv_write(OpTable& table, [[maybe_unused]] Isa isa) {
  for (auto& row : table.kv_write) row.fill({run_kv_write<Isa::scalar>});
}

}  // namespace parlance
