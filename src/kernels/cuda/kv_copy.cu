// kv_copy on CUDA: a block for each copy of the keys or values of one head.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kThreads = 128;

struct Layer {
  std::byte* pages;
  const int32_t* page_table;  // (max_pages, n_seq)
  int64_t max_pages;
  int64_t page_bytes;
  int64_t v_start;  // in a page, of the values
  int page_tokens;
  int n_head_kv;
  int k_words, v_words;  // of one head vector
};

// Block (copy, side and head). Rows and pages begin at multiples of a Word.
template <class Word>
__global__ void __launch_bounds__(kThreads) copy_positions(Layer kv, const int4* copies) {
  let_next_start();
  wait_for_previous();
  const int4 copy = copies[blockIdx.x];  // from, to, first position, number
  const bool is_value = static_cast<int>(blockIdx.y) >= kv.n_head_kv;
  const int head = static_cast<int>(blockIdx.y) % kv.n_head_kv;
  const int row_words = is_value ? kv.v_words : kv.k_words;
  const int64_t start = (is_value ? kv.v_start : 0) + static_cast<int64_t>(head) * kv.page_tokens *
                                                          row_words * static_cast<int>(sizeof(Word));
  for (int i = threadIdx.x; i < copy.w * row_words; i += kThreads) {
    const int pos = copy.z + i / row_words;
    const int64_t index = pos / kv.page_tokens;
    const int word = pos % kv.page_tokens * row_words + i % row_words;
    const auto words_of = [&](int seq) {
      return reinterpret_cast<Word*>(kv.pages + kv.page_table[seq * kv.max_pages + index] * kv.page_bytes +
                                     start);
    };
    words_of(copy.y)[word] = words_of(copy.x)[word];
  }
}

void run_kv_copy(Stream& stream, const KvCopyArgs& args) {
  const KvView& kv = args.kv.exact ? *args.kv.exact : args.kv;  // where new positions are written
  const auto n_copies = static_cast<unsigned>(args.copies.ne[1]);
  if (n_copies == 0) return;
  const auto is_multiple = [&](size_t n) {
    return reinterpret_cast<uintptr_t>(kv.pages) % n == 0 && kv.page_bytes % n == 0 &&
           kv.v_offset(0) % n == 0 && kv.k_row_bytes % n == 0 && kv.v_row_bytes % n == 0;
  };
  const bool is_wide = is_multiple(sizeof(uint4));
  const size_t word =
      is_wide ? sizeof(uint4) : sizeof(uint16_t);  // every format's rows are multiples of this
  const Layer layer{kv.pages,
                    kv.page_table.as<const int32_t>(),
                    kv.page_table.ne[0],
                    static_cast<int64_t>(kv.page_bytes),
                    static_cast<int64_t>(kv.v_offset(0)),
                    kv.page_tokens,
                    static_cast<int>(kv.n_head_kv),
                    static_cast<int>(kv.k_row_bytes / word),
                    static_cast<int>(kv.v_row_bytes / word)};
  launch(stream, is_wide ? copy_positions<uint4> : copy_positions<uint16_t>,
         {.grid = dim3(n_copies, static_cast<unsigned>(2 * kv.n_head_kv)), .block = dim3(kThreads)}, layer,
         args.copies.as<const int4>());
}

}  // namespace

void fill_kv_copy(OpTable& table) {
  table.kv_copy = {run_kv_copy};
}

}  // namespace parlance::cuda
