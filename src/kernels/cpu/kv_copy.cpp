// kv_copy on the CPU: rows of consecutive positions lie next to each other as far as their page reaches.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows.h"

namespace parlance {

namespace {

// Keys and values of one head.
void copy_head(const KvView& kv, const int32_t* copy, int64_t head) {
  const auto* table = kv.page_table.as<const int32_t>();
  const auto page_of = [&](int32_t seq, int64_t pos) {
    const int32_t page = table[seq * kv.page_table.ne[0] + pos / kv.page_tokens];
    return kv.pages + static_cast<size_t>(page) * kv.page_bytes;
  };
  const int64_t end = int64_t{copy[2]} + copy[3];
  for (int64_t pos = copy[2]; pos < end;) {
    const int64_t slot = pos % kv.page_tokens, n = std::min(end - pos, kv.page_tokens - slot);
    const TokenSlot from{page_of(copy[0], pos), slot}, to{page_of(copy[1], pos), slot};
    std::memcpy(to.k_row(kv, head), from.k_row(kv, head), static_cast<size_t>(n) * kv.k_row_bytes);
    std::memcpy(to.v_row(kv, head), from.v_row(kv, head), static_cast<size_t>(n) * kv.v_row_bytes);
    pos += n;
  }
}

void run_kv_copy(Stream& stream, const KvCopyArgs& args) {
  const KvView& kv = written_view(args.kv);
  const auto* copies = args.copies.as<const int32_t>();
  const int64_t n_elements = kv.page_tokens * (kv.head_dim_k + kv.head_dim_v);
  parallel_rows(pool_of(stream), args.copies.ne[1] * kv.n_head_kv, n_elements,
                [&](int64_t first, int64_t last) {
                  for (int64_t i = first; i < last; ++i)
                    copy_head(kv, copies + 4 * (i / kv.n_head_kv), i % kv.n_head_kv);
                });
}

}  // namespace

void fill_kv_copy(OpTable& table) {
  table.kv_copy = {run_kv_copy};
}

}  // namespace parlance
