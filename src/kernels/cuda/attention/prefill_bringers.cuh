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

  // Those from `first` on, a multiple of kRows, are asked for next, if there are any before `end`.
  __device__ void look_up(int first, int end) {
    index_ = first / p_.page_tokens;
    slot_ = first - index_ * p_.page_tokens;
    if (first < end) page_ = walk_.page(index_);
  }
  // The same of those that lie n keys behind the ones of before.
  __device__ void move_on(int n, int first, int end) {
    slot_ += n;
    while (slot_ >= p_.page_tokens) slot_ -= p_.page_tokens, ++index_;
    if (first < end) page_ = walk_.page(index_);
  }
  // Whether all of them lie behind each other.
  __device__ bool are_whole() const { return p_.page_tokens % kRows == 0; }
  __device__ const std::byte* whole() const { return all_ + page_ * p_.page_bytes + slot_ * row_bytes_; }
  __device__ const std::byte* row(int key) const {
    return all_ + walk_.page(key / p_.page_tokens) * p_.page_bytes + key % p_.page_tokens * row_bytes_;
  }

 private:
  const Params& p_;
  const Walk& walk_;
  const std::byte* const all_;
  const int row_bytes_;
  int index_ = 0, slot_ = 0;
  int64_t page_ = 0;
};

inline constexpr int kPartKeys = 64;  // of a block, which are looked up at once

struct UnpackRoom;

// Keys and values of f16, by one warpgroup.
class Copies {
  static constexpr int kRowBytes = kHeadDim * 2;
  static constexpr int kRowPieces = kRowBytes / kPieceBytes, kRowsAtOnce = kWarpgroupThreads / kRowPieces;

 public:
  static constexpr int kGroupsOfThem = 1, kRegisters = 88;

  __device__ Copies(const Params& p, Shared& shared, int, const UnpackRoom&) : p_(p), shared_(shared) {}

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
    __device__ void move_on(int first, int end) {
#pragma unroll
      for (int i = 0; i < kParts; ++i) parts[i].move_on(kKeys, first + i * kPartKeys, end);
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
    rows.move_on(first + kKeys, end);
  }

  __device__ void copy(const RowsAhead<kPartKeys>& rows, uint8_t* part, int first, int end) const {
    const int piece = thread_of_group() % kRowPieces, row = thread_of_group() / kRowPieces;
    uint8_t* const to = part + piece / kSlicePieces * kSliceBytes + swizzled_place(row, piece % kSlicePieces);
    static_assert(kRowsAtOnce == kSwizzledRows);
    if (rows.are_whole() && first + kPartKeys <= end) {
      const std::byte* const from = rows.whole() + row * kRowBytes + piece * kPieceBytes;
#pragma unroll
      for (int i = 0; i < kPartKeys; i += kRowsAtOnce)
        copy_piece(to + i * kSwizzledRowBytes, from + i * kRowBytes);
      return;
    }
    // Rows past the end are zeros: their weights are 0, and 0 times what lies there need not be.
#pragma unroll 1
    for (int i = 0; i < kPartKeys; i += kRowsAtOnce) {
      const int key = first + i + row;
      copy_piece(to + i * kSwizzledRowBytes, rows.row(min(key, end - 1)) + piece * kPieceBytes,
                 key < end ? kPieceBytes : 0);
    }
  }

  const Params& p_;
  Shared& shared_;
  Stage stages_[2];
};

// What bytes of two codes stand for, where formats have such: two 16-bit floats, which eight lanes each look
// up in banks of their own.
struct CodePairs {
  static constexpr int kCopies = 8;
  uint32_t of[256][kCopies];

  __host__ __device__ static bool serves(KvFormat format) {
    return format == KvFormat::tbq4_0 || format == KvFormat::q4_polar;
  }
  // By the whole block, which has to wait for itself then.
  __device__ void fill(KvFormat format) {
    const float* const levels = format == KvFormat::tbq4_0 ? kLevels4.of : kPolarLevels.of;
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
      const uint32_t pair = bits_of(__floats2half2_rn(levels[i % 16], levels[i / 16]));
      auto* const copies = reinterpret_cast<uint4*>(of[i]);
      copies[0] = copies[1] = make_uint4(pair, pair, pair, pair);
    }
  }
  // Of the bytes of `two`.
  __device__ uint32_t first(uint32_t two) const { return own()[(two & 255) * kCopies]; }
  __device__ uint32_t second(uint32_t two) const { return own()[(two >> 8) * kCopies]; }

 private:
  __device__ const uint32_t* own() const { return of[0] + threadIdx.x % kCopies; }
};

__device__ inline Sixteen unpack_tbq4_0(const std::byte* row, int u, const CodePairs& pairs) {
  Sixteen x = Sixteen::of_halves_of_32(u);
  const std::byte* block = row + u / 2 * sizeof(BlockTbq4_0);
  const std::byte* codes = block + 2 + u % 2 * 8;
  const __half2 step = step_at(block);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t two = two_bytes(codes + 2 * i), first = pairs.first(two), second = pairs.second(two);
    x.low[i] = scaled(pair_of(first, second), step);
    x.high[i] = scaled(__byte_perm(first, second, 0x7632), step);
  }
  return x;
}

__device__ inline Sixteen unpack_polar(const std::byte* row, int u, const CodePairs& pairs) {
  Sixteen x = Sixteen::of_neighbours(u);
  const std::byte* block = row + u / 8 * sizeof(BlockQ4Polar);
  const std::byte* codes = block + 2 + u % 8 * 8;
  const __half2 norm = step_at(block);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t two = two_bytes(codes + 2 * i);
    uint32_t(&to)[4] = i < 2 ? x.low : x.high;
    to[i % 2 * 2] = scaled(pairs.first(two), norm);
    to[i % 2 * 2 + 1] = scaled(pairs.second(two), norm);
  }
  return x;
}

// What is in shared memory beside Shared: for codes of either side, then the bytes of parts.
struct UnpackRoom {
  std::byte* bytes;

  __device__ Levels& levels() const { return *reinterpret_cast<Levels*>(bytes); }
  __device__ CodePairs& pairs(const Params& p, Side side) const {
    auto* const first = reinterpret_cast<CodePairs*>(bytes + sizeof(Levels));
    return side == values && CodePairs::serves(p.k_format) ? first[1] : first[0];
  }
  __device__ std::byte* raw(const Params& p) const { return bytes + table_bytes(p.k_format, p.v_format); }

  __host__ __device__ static int table_bytes(KvFormat k, KvFormat v) {
    const int n_pairs = (CodePairs::serves(k) ? 1 : 0) + (CodePairs::serves(v) ? 1 : 0);
    return static_cast<int>(sizeof(Levels)) + n_pairs * static_cast<int>(sizeof(CodePairs));
  }
  // By the whole block.
  __device__ void fill(const Params& p) const {
    if (CodePairs::serves(p.k_format)) pairs(p, keys).fill(p.k_format);
    if (CodePairs::serves(p.v_format)) pairs(p, values).fill(p.v_format);
    levels().fill(p);  // waits
  }
};

// Of other formats, by two warpgroups: one for keys, one for values.
class Unpacked {
  static constexpr int kParts = 2;  // of which one is unpacked and one on its way

 public:
  static constexpr int kGroupsOfThem = 2, kRegisters = 64;

  // Of the bytes of all parts.
  __host__ __device__ static int raw_bytes(int row_bytes) { return kParts * kPartKeys * row_bytes; }

  __device__ Unpacked(const Params& p, Shared& shared, int group, const UnpackRoom& room)
      : p_(p),
        shared_(shared),
        side_(group == 0 ? keys : values),
        raw_(room.raw(p) + (side_ == keys ? 0 : raw_bytes(p.k_row_bytes))),
        row_bytes_(side_ == keys ? p.k_row_bytes : p.v_row_bytes),
        levels_(side_ == keys ? room.levels().k : room.levels().v),
        pairs_(room.pairs(p, side_)) {}

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
          unpack(raw, block, part);
          wait_for_group();  // the part's bytes may be written to again
          if (first + part + kPartKeys > segment.last) clear(block, part, segment.last - (first + part));
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
    rows.move_on(kPartKeys, first + kPartKeys, end);
  }

  __device__ void unpack(const std::byte* raw, uint8_t* block, int first_row) const {
    const KvFormat format = side_ == keys ? p_.k_format : p_.v_format;
    const auto store = [=](int row, int at, const uint4& eight) {
      *piece_of(block, first_row + row, at / (kPieceBytes / 2)) = eight;
    };
    const auto with = [&](const auto& unpack) {
      unpack_rows<kHeadDim, kPartKeys, kWarpgroupThreads>(raw, row_bytes_, thread_of_group(), unpack, store);
    };
    if (format == KvFormat::tbq4_0)
      return with([this](const std::byte* row, int u) { return unpack_tbq4_0(row, u, pairs_); });
    if (format == KvFormat::q4_polar)
      return with([this](const std::byte* row, int u) { return unpack_polar(row, u, pairs_); });
    unpack_rows<kHeadDim, kPartKeys, kWarpgroupThreads>(format, raw, row_bytes_, levels_, thread_of_group(),
                                                        store);
  }
  // Rows past the n that are there become zeros: their weights are 0, and 0 times what lies there need not
  // be.
  __device__ static void clear(uint8_t* block, int first_row, int n) {
    constexpr int kPieces = kHeadDim * 2 / kPieceBytes;
#pragma unroll 1
    for (int i = max(n, 0) * kPieces + thread_of_group(); i < kPartKeys * kPieces; i += kWarpgroupThreads)
      *piece_of(block, first_row + i / kPieces, i % kPieces) = uint4{};
  }
  __device__ static uint4* piece_of(uint8_t* block, int row, int piece) {
    return reinterpret_cast<uint4*>(block + piece / kSlicePieces * kSliceBytes +
                                    swizzled_place(row, piece % kSlicePieces));
  }

  const Params& p_;
  Shared& shared_;
  const Side side_;
  std::byte* const raw_;
  const int row_bytes_;
  const uint16_t* const levels_;
  const CodePairs& pairs_;
  Stage stage_;
  int n_copied_ = 0;  // parts
};

}  // namespace wide

}  // namespace parlance::cuda::attention
