// How blocks that attend to compressed keys and values share them: which warp has which keys, where these lie
// in pages, and what lies where in shared memory.
#pragma once

#include "kernels/cuda/attention/walk.cuh"
#include "kernels/cuda/matmul/copy.cuh"

namespace parlance::cuda::attention {

inline constexpr int kPackedKeys = 16;  // that a warp works on at a time
inline constexpr int kPackedWarps = 8, kLeastParts = 4;

// Bits of a query's projections, which lose as little by that as others by f16.
inline constexpr int kPlanes = 12;

// Pairs of stored values of a key, or of a value, that a lane has.
template <int kHeadDim>
constexpr int kKeyPairs = kHeadDim / 8;
template <int kHeadDim>
constexpr int kValuePairs = kHeadDim / 16;

// What the shared memory of a block holds behind Shared, in bytes from its start.
struct PackedLayout {
  int parts, queries, ring, tables, end;
  int n_parts;   // that warps leave at a time
  int n_stages;  // of the ring
  // Of a page: runs of sixteen rows, 2^32 over that, rounded up, and pieces of sixteen bytes.
  int page_runs;
  uint32_t runs_factor, page_pieces;

  __host__ __device__ static int stage_bytes(int k_row_bytes, int v_row_bytes) {
    return kPackedKeys * (k_row_bytes + v_row_bytes);
  }
};

// What warps have of a segment, in shared memory, from so many at a time. An element lies where what a warp
// stores at once is in different banks, or nearly so.
template <int kPartRows, int kDim>
struct PackedParts {
  static constexpr int kRows = kPartRows, kHeadDim = kDim, kMostPiece = 1;
  static constexpr int kStride = (kHeadDim + kHeadDim / 16 + 11) / 16 * 16 + 4;
  static constexpr int kPartBytes = kRows * (kStride * sizeof(float) + sizeof(float2));

  int n_parts;
  float2* stats;  // [n_parts][kRows]: largest score, sum of weights
  float* out;     // [n_parts][kRows][kStride]
  __device__ PackedParts(std::byte* bytes, int n_parts)
      : n_parts(n_parts),
        stats(reinterpret_cast<float2*>(bytes)),
        out(reinterpret_cast<float*>(stats + n_parts * kRows)) {}

  __device__ float& element(int part, int row, int i) const {
    return out[(part * kRows + row) * kStride + i + i / 16];
  }
  __device__ float2 stats_of(int, int part, int row) const { return stats[part * kRows + row]; }
  template <class Piece>
  __device__ Piece piece(int, int part, int row, int i) const {
    return Piece{{element(part, row, i)}};
  }
};

// Which of sixteen keys are rows of a matrix: such that what lanes read of rows at once lies in many banks.
// Rows r and r + 8 are keys first(r) and first(r) + apart; so are neighbours of rows neighbours of keys.
struct KeyOrder {
  bool is_in_fours;
  __device__ explicit KeyOrder(KvFormat format)
      : is_in_fours(format == KvFormat::q8_0 || format == KvFormat::qjl1_256) {}
  __device__ int first(int r) const { return is_in_fours ? r % 4 + r / 4 * 8 : r / 2 * 4 + r % 2; }
  __device__ int apart() const { return is_in_fours ? 4 : 2; }
};

// Where a warp's next sixteen keys lie. All of a layer is made of runs of sixteen rows, in pages of so many
// of them, and is counted in pieces of sixteen bytes.
class RunCursor {
 public:
  __device__ RunCursor(const Params& p, const PackedLayout& layout, int seq, int head_kv, const TokenRun& run,
                       const SegmentRange& range)
      : p_(p),
        layout_(layout),
        first_k_(head_kv * layout.page_runs * p.k_row_bytes),
        first_v_(static_cast<uint32_t>(p.v_start / kPieceBytes) + head_kv * layout.page_runs * p.v_row_bytes),
        first_page_(static_cast<int>(seq * p.max_pages)),
        n_keys_(run.n_keys),
        segment_keys_(run.segment_keys),
        end_(range.last) {
    const Walk walk(p, seq, head_kv);
    gap_at_ = walk.gap_at, gap_ = walk.gap;
    enter(range.first);
    settle();
  }

  __device__ bool has_more() const { return segment_ < end_; }
  // Whether there are more, and they are among the first n_keys.
  __device__ bool has_more_of(int n_keys) const { return has_more() && key_ + kPackedKeys <= n_keys; }
  // Moves on to those behind them.
  __device__ void take(const std::byte*& k_run, const std::byte*& v_run, int k_row_bytes, int v_row_bytes) {
    const uint32_t page = page_ * layout_.page_pieces;
    k_run = p_.pages + static_cast<uint64_t>(page + first_k_ + run_ * k_row_bytes) * kPieceBytes;
    v_run = p_.pages + static_cast<uint64_t>(page + first_v_ + run_ * v_row_bytes) * kPieceBytes;
    key_ += kPackedWarps * kPackedKeys;
    settle();
  }

 private:
  __device__ void enter(int segment) {
    segment_ = segment;
    key_ = segment * segment_keys_ + static_cast<int>(threadIdx.x) / 32 * kPackedKeys;
    key_end_ = min(n_keys_, (segment + 1) * segment_keys_);
  }
  // In the first segment, from here on, that has some. Their page is looked up long before it is asked for.
  __device__ void settle() {
    while (segment_ < end_ && key_ >= key_end_) enter(segment_ + 1);
    if (segment_ >= end_) return;
    const uint32_t run = static_cast<uint32_t>(key_) / kPackedKeys;
    const auto index = static_cast<int>(layout_.page_runs == 1 ? run : __umulhi(run, layout_.runs_factor));
    run_ = run - index * layout_.page_runs;
    page_ = p_.page_table[first_page_ + index + (index >= gap_at_ ? gap_ : 0)];
  }

  const Params& p_;
  const PackedLayout& layout_;
  const uint32_t first_k_, first_v_;  // pieces of a page before those of the head
  const int first_page_;              // in the page table
  const int n_keys_, segment_keys_, end_;
  int gap_at_, gap_;  // see Walk
  int segment_ = 0, key_ = 0, key_end_ = 0;
  uint32_t page_ = 0, run_ = 0;  // of pages, of the page
};

// Which formats a kernel serves: any, or one pair, whose code is all in one place. kSharesTable: see
// PairTables.
struct AnyCodes {
  static constexpr bool kIsAny = true, kSharesTable = false;
};
template <KvFormat k_format, KvFormat v_format, bool kShares = true>
struct CodesOf {
  static constexpr bool kIsAny = false, kSharesTable = kShares;
  static constexpr KvFormat kK = k_format, kV = v_format;
};

}  // namespace parlance::cuda::attention
