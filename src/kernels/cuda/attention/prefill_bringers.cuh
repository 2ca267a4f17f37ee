// How keys and values come to the warpgroups of prefill_wide.cu: by others, block after block into rings of
// shared memory, as f16 where the tensor cores want them. Blocks of a cache of f16 are copied; others are
// copied as bytes first, a part of a block ahead, and unpacked.
#pragma once

#include "kernels/cuda/attention/unpack.cuh"
#include "kernels/cuda/matmul/arrivals.cuh"
#include "kernels/cuda/matmul/warpgroup.cuh"

namespace parlance::cuda::attention {

namespace wide {

inline constexpr int kHeadDim = 128, kKeys = 128;                  // of a block
inline constexpr int kGroups = kWidePrefillRows / kWarpgroupRows;  // of rows
inline constexpr int kStages = 2;
inline constexpr int kSliceValues = 64,
                     kSlices = kHeadDim / kSliceValues;  // of a row: tiles of warpgroup.cuh
inline constexpr int kSliceBytes = kKeys * kSwizzledRowBytes;
inline constexpr int kSlicePieces = kSwizzledRowBytes / kPieceBytes;

enum Side { keys, values };

struct Shared {
  uint8_t q[kSlices][kWidePrefillRows * kSwizzledRowBytes];
  uint8_t blocks[2][kStages][kSlices * kSliceBytes];
  Arrivals there[2][kStages], free[2][kStages];

  // By a thread, before a barrier of all. A block of either side is brought by a warpgroup.
  __device__ void init() {
    for (int side = 0; side < 2; ++side) {
      for (int stage = 0; stage < kStages; ++stage) {
        there[side][stage].init(kWarpgroupThreads);
        free[side][stage].init(kGroups * kWarpgroupThreads / 32);
      }
    }
  }
};

// Where a side's ring is, block after block.
struct Stage {
  int n = 0;
  __device__ int index() const { return n % kStages; }
  __device__ int phase() const { return n / kStages; }
};

struct Segment {
  int first, last;  // keys
  __device__ Segment(const TokenRun& run, int segment)
      : first(segment * run.segment_keys), last(min(run.n_keys, first + run.segment_keys)) {}
};

__device__ inline int thread_of_group() {
  return static_cast<int>(threadIdx.x) % kWarpgroupThreads;
}

// Where rows of a side lie, in pages that are looked up before they are asked for.
template <int kRows>
class RowsAhead {
 public:
  __device__ RowsAhead(const Params& p, const Walk& walk, Side side)
      : p_(p),
        walk_(walk),
        all_(side == keys ? walk.keys : walk.values),
        row_bytes_(side == keys ? p.k_row_bytes : p.v_row_bytes) {}

  // That those from `first` on, a multiple of kRows, are asked for next, if there are any before `end`.
  __device__ void look_up(int first, int end) {
    if (first >= end) return;
    const int index = first / p_.page_tokens;
    slot_ = first - index * p_.page_tokens;
    page_ = walk_.page(index);
  }
  // Whether all of them lie behind each other.
  __device__ bool are_whole() const { return p_.page_tokens % kRows == 0; }
  __device__ const std::byte* whole() const { return all_ + page_ * p_.page_bytes + slot_ * row_bytes_; }
  __device__ const std::byte* row(int key) const {
    return all_ + walk_.page(key / p_.page_tokens) * p_.page_bytes + key % p_.page_tokens * row_bytes_;
  }
  __device__ int row_bytes() const { return row_bytes_; }

 private:
  const Params& p_;
  const Walk& walk_;
  const std::byte* const all_;
  const int row_bytes_;
  int slot_ = 0;
  int64_t page_ = 0;
};

inline constexpr int kPartKeys = 64;  // of a block, which are looked up at once

// Keys and values of f16, by one warpgroup.
class Copies {
  static constexpr int kRowPieces = kHeadDim * 2 / kPieceBytes, kRowsAtOnce = kWarpgroupThreads / kRowPieces;

 public:
  static constexpr int kGroupsOfThem = 1, kRegisters = 72;

  __device__ Copies(const Params& p, Shared& shared, int, std::byte*, const Levels&)
      : p_(p), shared_(shared) {}

  __device__ void bring(const TokenRun& run, const SegmentRange& range, int head_kv) {
    const Walk walk(p_, p_.seq[run.first], head_kv);
    OfSide of_keys(p_, walk, keys), of_values(p_, walk, values);
    for (int i = range.first; i < range.last; ++i) {
      const Segment segment(run, i);
      of_keys.look_up(segment.first, segment.last), of_values.look_up(segment.first, segment.last);
      // In the order in which they are asked for.
      int first = segment.first;
      bring(of_keys, keys, first, segment.last);
      for (; first + kKeys < segment.last; first += kKeys) {
        bring(of_keys, keys, first + kKeys, segment.last);
        bring(of_values, values, first, segment.last);
      }
      bring(of_values, values, first, segment.last);
    }
  }
  __device__ static void finish() {
    end_copy_group();
    wait_for_copies<0>();
  }

 private:
  static constexpr int kParts = kKeys / kPartKeys;

  struct OfSide {
    RowsAhead<kPartKeys> parts[kParts];
    __device__ OfSide(const Params& p, const Walk& walk, Side side)
        : parts{{p, walk, side}, {p, walk, side}} {}
    __device__ void look_up(int first, int end) {
#pragma unroll
      for (int i = 0; i < kParts; ++i) parts[i].look_up(first + i * kPartKeys, end);
    }
  };

  __device__ void bring(OfSide& rows, Side side, int first, int end) {
    Stage& stage = stages_[side];
    const int index = stage.index();
    shared_.free[side][index].wait(stage.phase() - 1);
    ++stage.n;
#pragma unroll
    for (int i = 0; i < kParts; ++i)
      copy(rows.parts[i], shared_.blocks[side][index] + i * kPartKeys * kSwizzledRowBytes,
           first + i * kPartKeys, end);
    shared_.there[side][index].arrive_behind_copies();
    rows.look_up(first + kKeys, end);
  }

  // Rows past the end are zeros: their weights are 0, and 0 times what lies there need not be.
  __device__ void copy(const RowsAhead<kPartKeys>& rows, uint8_t* part, int first, int end) const {
    const int piece = thread_of_group() % kRowPieces, row = thread_of_group() / kRowPieces;
    uint8_t* const to = part + piece / kSlicePieces * kSliceBytes + swizzled_place(row, piece % kSlicePieces);
    static_assert(kRowsAtOnce == kSwizzledRows);
    const bool are_whole = rows.are_whole();
    const std::byte* from = rows.whole() + row * rows.row_bytes() + piece * kPieceBytes;
#pragma unroll
    for (int i = 0; i < kPartKeys; i += kRowsAtOnce) {
      const int key = first + i + row;
      if (!are_whole) from = rows.row(min(key, end - 1)) + piece * kPieceBytes;
      copy_piece(to + i * kSwizzledRowBytes, from, key < end ? kPieceBytes : 0);
      from += kRowsAtOnce * rows.row_bytes();
    }
  }

  const Params& p_;
  Shared& shared_;
  Stage stages_[2];
};

// Of other formats, by two warpgroups: one for keys, one for values.
class Unpacked {
  static constexpr int kParts = 2;  // of which one is unpacked and one on its way

 public:
  static constexpr int kGroupsOfThem = 2, kRegisters = 64;

  // Of the bytes of all parts.
  __host__ __device__ static int raw_bytes(int row_bytes) { return kParts * kPartKeys * row_bytes; }

  // `raw`: room for both sides.
  __device__ Unpacked(const Params& p, Shared& shared, int group, std::byte* raw, const Levels& levels)
      : p_(p),
        shared_(shared),
        side_(group == 0 ? keys : values),
        raw_(raw + (side_ == keys ? 0 : raw_bytes(p.k_row_bytes))),
        row_bytes_(side_ == keys ? p.k_row_bytes : p.v_row_bytes),
        levels_(side_ == keys ? levels.k : levels.v) {}

  __device__ void bring(const TokenRun& run, const SegmentRange& range, int head_kv) {
    const Walk walk(p_, p_.seq[run.first], head_kv);
    RowsAhead<kPartKeys> rows(p_, walk, side_);
    for (int i = range.first; i < range.last; ++i) {
      const Segment segment(run, i);
      rows.look_up(segment.first, segment.last);
      copy_part(rows, segment.first, segment.last);
      for (int first = segment.first; first < segment.last; first += kKeys) {
        shared_.free[side_][stage_.index()].wait(stage_.phase() - 1);
        uint8_t* const block = shared_.blocks[side_][stage_.index()];
#pragma unroll 1
        for (int part = 0; part < kKeys; part += kPartKeys) {
          const std::byte* const raw = raw_ + (n_copied_ - 1) % kParts * kPartKeys * row_bytes_;
          copy_part(rows, first + part + kPartKeys, segment.last);
          wait_for_copies<1>();
          wait_for_group();
          unpack(raw, block, part, segment.last - (first + part));
          wait_for_group();  // the part's bytes may be written to again
        }
        show_to_tensor_cores();
        shared_.there[side_][stage_.index()].arrive();
        ++stage_.n;
      }
    }
  }
  __device__ static void finish() {}

 private:
  __device__ void wait_for_group() const {
    asm volatile("bar.sync %0, %1;" ::"r"(1 + kGroups + side_), "r"(kWarpgroupThreads) : "memory");
  }

  // Rows past the end are copied along, as far as they share a page or a run with one before it.
  __device__ void copy_part(RowsAhead<kPartKeys>& rows, int first, int end) {
    std::byte* const to = raw_ + n_copied_ % kParts * kPartKeys * row_bytes_;
    ++n_copied_;
    if (first < end && rows.are_whole()) {
      copy_rows<kPartKeys, kWarpgroupThreads>(to, rows.whole(), row_bytes_, thread_of_group());
    } else {
#pragma unroll 1
      for (int key = first; key < min(first + kPartKeys, end); key += kRunRows)
        copy_rows<kRunRows, kWarpgroupThreads>(to + (key - first) * row_bytes_, rows.row(key), row_bytes_,
                                               thread_of_group());
    }
    end_copy_group();
    rows.look_up(first + kPartKeys, end);
  }

  __device__ void unpack(const std::byte* raw, uint8_t* block, int first_row, int n_rows) const {
    unpack_rows<kHeadDim, kPartKeys, kWarpgroupThreads>(
        side_ == keys ? p_.k_format : p_.v_format, raw, row_bytes_, n_rows, levels_, thread_of_group(),
        [=](int row, int at, const uint4& eight) {
          const int piece = at / (kPieceBytes / 2);
          *reinterpret_cast<uint4*>(block + piece / kSlicePieces * kSliceBytes +
                                    swizzled_place(first_row + row, piece % kSlicePieces)) = eight;
        });
  }

  const Params& p_;
  Shared& shared_;
  const Side side_;
  std::byte* const raw_;
  const int row_bytes_;
  const uint16_t* const levels_;
  Stage stage_;
  int n_copied_ = 0;  // parts
};

}  // namespace wide

}  // namespace parlance::cuda::attention
