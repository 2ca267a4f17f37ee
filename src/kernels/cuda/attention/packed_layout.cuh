// How blocks that attend to compressed keys and values share them: which warp has which keys, where these lie
// in pages, and what lies where in shared memory.
#pragma once

#include "kernels/cuda/attention/codes.cuh"
#include "kernels/cuda/attention/walk.cuh"
#include "kernels/cuda/matmul/copy.cuh"

namespace parlance::cuda::attention {

inline constexpr int kPackedKeys = 16;  // that a warp works on at a time
inline constexpr int kPackedWarps = 8, kLeastParts = 2;
inline constexpr int kTurnKeys = kPackedWarps * kPackedKeys;  // that each warp has had a turn at

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
  // From the first element of a unit of Codes to another one of it.
  __device__ static constexpr int apart(int i) { return i + i / 16; }
  // The row that the n-th so many threads have: where a warp has four of them, such that neighbours of one
  // and of others are in different banks.
  template <int kRowThreads>
  __device__ static int row_of_threads(int n) {
    static_assert(2 * kStride % 32 == 8);
    return kRowThreads == 8 ? n / 8 * 8 + n / 4 % 2 + n % 4 * 2 : n;
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

// Which segments of a block's range its warps share, each with turns at sixteen keys, and which a warp has
// alone: then it takes the turns of one warp after the other itself and joins them as a block does those of
// its warps, so that it does not show who had a segment. Where segments are many this takes less time, since
// a block puts together what its warps have of eight segments in place of one.
struct SegmentShares {
  int first_shared;  // each warp has segments of its own before it, the next one the next warp

  template <bool kMayBeAlone>
  __device__ static SegmentShares of(const TokenRun& run, const SegmentRange& range) {
    if constexpr (!kMayBeAlone) return {range.first};
    const int n_left = (range.last - range.first) % kPackedWarps;
    return {range.last - (are_shared(n_left, run.segment_keys) ? n_left : 0)};
  }

  // Whether so many segments take less time where warps share them.
  __host__ __device__ static bool are_shared(int n, int segment_keys) {
    // Sixteen keys take as long as three quarters of putting together does.
    constexpr int kTimeOfKeys = 3, kTimeOfJoin = 4;
    const auto time_of = [](int n_runs) { return n_runs * kTimeOfKeys + kTimeOfJoin; };
    const int n_turns = (segment_keys + kTurnKeys - 1) / kTurnKeys;
    return n < kPackedWarps && n * time_of(n_turns) < time_of(segment_keys / kPackedKeys);
  }
};

// Where a warp's next sixteen keys lie. All of a layer is made of runs of sixteen rows, in pages of so many
// of them, and is counted in pieces of sixteen bytes. 32 of them are looked up at a time, by a lane each.
template <bool kMayBeAlone>
class RunCursor {
 public:
  // `warp`: of the block.
  __device__ RunCursor(const Params& p, const PackedLayout& layout, int seq, int head_kv, const TokenRun& run,
                       const SegmentRange& range, const SegmentShares& shares, int warp)
      : p_(p),
        layout_(layout),
        warp_(warp),
        first_k_(head_kv * layout.page_runs * p.k_row_bytes),
        first_v_(static_cast<uint32_t>(p.v_start / kPieceBytes) + head_kv * layout.page_runs * p.v_row_bytes),
        first_page_(static_cast<int>(seq * p.max_pages)),
        first_own_(range.first + warp),
        first_shared_(shares.first_shared),
        n_keys_(run.n_keys),
        segment_keys_(run.segment_keys) {
    const Walk walk(p, seq, head_kv);
    gap_at_ = walk.gap_at, gap_ = walk.gap;
    if (const int n_own = shares.first_shared - first_own_; kMayBeAlone && n_own > 0) {
      const int n_before = (n_own - 1) / kPackedWarps;
      n_own_ = n_before * n_runs(segment_keys_) + n_runs(keys_of(first_own_ + n_before * kPackedWarps));
    }
    n_all_ = n_own_;
    if (const int n_shared = range.last - shares.first_shared; n_shared > 0) {
      const int n_last = n_runs_of_turns(keys_of(range.last - 1));
      n_all_ += (n_shared - 1) * n_runs_of_turns(segment_keys_) + n_last;
      end_ = n_last == 0 ? 0
                         : (range.last - 1) * segment_keys_ + warp * kPackedKeys + (n_last - 1) * kTurnKeys +
                               kPackedKeys;
    }
    look_up();
  }

  __device__ bool has_more() const { return n_taken_ < n_all_; }
  // Whether there are more, and they are among the first n_keys; where warps have no segments alone.
  __device__ bool has_more_of(int n_keys) const {
    return n_taken_ + 1 < n_all_ || (has_more() && end_ <= n_keys);
  }
  // Moves on to those behind them.
  __device__ void take(const std::byte*& k_run, const std::byte*& v_run) {
    const unsigned turn = static_cast<unsigned>(n_taken_) % 32;
    k_run = p_.pages + uint64_t{__shfl_sync(0xffffffff, k_piece_, turn)} * kPieceBytes;
    v_run = p_.pages + uint64_t{__shfl_sync(0xffffffff, v_piece_, turn)} * kPieceBytes;
    ++n_taken_;
  }
  // Whenever some have been taken, 32 at most since the last time.
  __device__ void keep_up() {
    if (static_cast<unsigned>(n_taken_) % 32 == 0) look_up();
  }

 private:
  __device__ int keys_of(int segment) const { return min(n_keys_ - segment * segment_keys_, segment_keys_); }
  __device__ static int n_runs(int n_keys) {
    return static_cast<unsigned>(n_keys + kPackedKeys - 1) / kPackedKeys;
  }
  // That this warp has turns at.
  __device__ int n_runs_of_turns(int n_keys) const {
    return static_cast<unsigned>(max(n_keys - warp_ * kPackedKeys + kTurnKeys - 1, 0)) / kTurnKeys;
  }
  // Of less than 2^21: with the half, further from a whole number than what is wrong with it.
  __device__ static int quotient(int index, int n) {
    return static_cast<int>(__fdividef(static_cast<float>(index) + 0.5f, static_cast<float>(n)));
  }

  // The first key of a run, and of one of a warp's own segments: these are in the order of turns.
  __device__ int shared_key(int index) const {
    const int n = n_runs_of_turns(segment_keys_), segment = index < n ? 0 : quotient(index, n);
    return (first_shared_ + segment) * segment_keys_ + warp_ * kPackedKeys +
           (index - segment * n) * kTurnKeys;
  }
  __device__ int own_key(int index) const {
    const int n = n_runs(segment_keys_), nth = index < n ? 0 : quotient(index, n);
    const int segment = first_own_ + nth * kPackedWarps;
    const auto n_there = static_cast<unsigned>(n_runs(keys_of(segment)));
    const int n_least = n_there / kPackedWarps, n_with_more = n_there % kPackedWarps;
    int in = index - nth * n, turn = 0, n_of_turn = n_least + 1;
    if (in >= n_with_more * n_of_turn) in -= n_with_more * n_of_turn, turn = n_with_more, n_of_turn = n_least;
    const int further = quotient(in, n_of_turn);
    return segment * segment_keys_ + (turn + further) * kPackedKeys + (in - further * n_of_turn) * kTurnKeys;
  }

  __device__ void look_up() {
    const int index = n_taken_ + static_cast<int>(threadIdx.x) % 32;
    if (index >= n_all_) return;
    const bool is_own = kMayBeAlone && index < n_own_;
    const int key = is_own ? own_key(index) : shared_key(index - n_own_);
    const uint32_t run = static_cast<uint32_t>(key) / kPackedKeys;
    const auto in_table = static_cast<int>(layout_.page_runs == 1 ? run : __umulhi(run, layout_.runs_factor));
    const uint32_t in_page = run - in_table * layout_.page_runs;
    const uint32_t page = p_.page_table[first_page_ + in_table + (in_table >= gap_at_ ? gap_ : 0)];
    k_piece_ = page * layout_.page_pieces + first_k_ + in_page * p_.k_row_bytes;
    v_piece_ = page * layout_.page_pieces + first_v_ + in_page * p_.v_row_bytes;
  }

  const Params& p_;
  const PackedLayout& layout_;
  const int warp_;                    // of the block
  const uint32_t first_k_, first_v_;  // pieces of a page before those of the head
  const int first_page_;              // in the page table
  const int first_own_, first_shared_;
  const int n_keys_, segment_keys_;
  int gap_at_, gap_;                     // see Walk
  int n_own_ = 0, n_all_, n_taken_ = 0;  // runs of this warp's own segments come first
  int end_ = 0;                          // of the last ones' keys
  uint32_t k_piece_ = 0, v_piece_ = 0;   // of this lane's run
};

// Which formats a kernel serves: any, or one pair, whose code is all in one place.
struct AnyCodes {
  static constexpr bool kIsAny = true;
  static constexpr PairKeys kKeys = PairKeys::by_side;
};
template <KvFormat k_format, KvFormat v_format, PairKeys keys = PairKeys::by_field>
struct CodesOf {
  static constexpr bool kIsAny = false;
  static constexpr PairKeys kKeys = keys;
  static constexpr KvFormat kK = k_format, kV = v_format;
};

}  // namespace parlance::cuda::attention
