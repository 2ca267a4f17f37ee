// What kernels of gemv with AVX-512 share. The codes of a group, some runs of some rows, are taken apart into
// vectors in which lane l holds four codes of run l; products with the activations, in the same order, are
// summed as integers over all vectors, so that a lane ends with the sum of its run. This is scaled and added
// up in f32, and lanes meet only at the end of a segment (order_of_sums.h). Taking a group apart costs about
// as much as multiplying it with two tokens and is done once for all tokens.
#pragma once

#include <bit>

#include "kernels/cpu/matmul/avx512/quantised.h"
#include "kernels/cpu/matmul/order_of_sums.h"
#include "quant/iq4_nl.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::avx512 {

#define INLINE_AVX512 PARLANCE_AVX512 PARLANCE_INLINE

// Sixteen numbers for the lanes of a vector, from their indices.
template <class T, int kLanes>
struct alignas(64) LaneTable {
  std::array<T, kLanes> values;

  template <class Function>
  constexpr explicit LaneTable(Function value_of) : values{} {
    for (int lane = 0; lane < kLanes; ++lane) values[lane] = static_cast<T>(value_of(lane));
  }
  INLINE_AVX512 operator __m512i() const { return _mm512_load_si512(values.data()); }
};

INLINE_AVX512 __m512i load(const void* bytes) {
  return _mm512_loadu_si512(bytes);
}
INLINE_AVX512 __m128i load16(const void* bytes) {
  return _mm_loadu_si128(static_cast<const __m128i*>(bytes));
}

// In every 16 bytes: the values of the IQ4 formats, moved up by 128.
INLINE_AVX512 __m512i iq4_table() {
  const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kIq4Values.data()));
  return _mm512_broadcast_i32x4(_mm_xor_si128(values, _mm_set1_epi8(-128)));
}

// Memory that is asked for while a group is multiplied. Several rows at once are too many short streams for
// the processor's own prefetching: the weights are asked for, as one stream, this far ahead of the rows that
// are multiplied; after the group was taken apart, whose own loads would wait behind them, and not all at
// once.
constexpr int64_t kPrefetchBytes = 8192;
struct Ahead {
  const std::byte* next;
  const std::byte* end;

  // What each of n_parts of the work on a group asks for.
  PARLANCE_INLINE int64_t share(int64_t n_parts) const {
    return align_up(div_up<int64_t>(end - next, n_parts), int64_t{64});
  }
  PARLANCE_INLINE void ask(int64_t n_bytes) {
    for (const std::byte* const stop = std::min(end, next + n_bytes); next < stop; next += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T1);
    }
  }
};

// Where a group of some rows is. Addresses are not added up before they are used: a load does that.
template <int kRows>
struct GroupOfRows {
  const std::byte* rows[kRows];
  int64_t offset;

  PARLANCE_INLINE const std::byte* operator[](int r) const { return rows[r] + offset; }

  // The four rows from `first` on.
  PARLANCE_INLINE GroupOfRows<4> four(int first) const {
    return {{rows[first], rows[first + 1], rows[first + 2], rows[first + 3]}, offset};
  }
};

// The rows of a task that are multiplied together; beyond the last one it is repeated. Of each, a group is
// Format::kValues values in Format::kBytes.
template <class Format, int kRows>
class RowGroup {
 public:
  static constexpr int64_t kSegmentGroups = kSegmentRuns * kRun / Format::kValues;
  static constexpr int64_t kGroupBytes = kRows * Format::kBytes;

  PARLANCE_INLINE RowGroup(const GemvArgs& args, int64_t first)
      : n_groups_(div_up(args.n_in, Format::kValues)), whole_groups_(args.n_in / Format::kValues) {
    for (int r = 0; r < kRows; ++r) {
      at_.rows[r] = args.weight + static_cast<size_t>(std::min(first + r, args.n_rows - 1)) * args.row_bytes;
    }
    rest_bytes_ = args.row_bytes - static_cast<size_t>(whole_groups_) * Format::kBytes;
    ahead_ = at_.rows[0] + kRows * args.row_bytes + kPrefetchBytes;
  }

  int64_t n_groups() const { return n_groups_; }
  // What to ask for with the last group.
  PARLANCE_INLINE Ahead ahead() const { return {ahead_ - kGroupBytes, ahead_}; }

  // Group `index` of each row, in ascending order. What a last group lacks is filled up with zeros in a copy.
  PARLANCE_INLINE const GroupOfRows<kRows>& next(int64_t index) {
    ahead_ += kGroupBytes;
    at_.offset = index * Format::kBytes;
    if (index < whole_groups_) return at_;
    for (int r = 0; r < kRows; ++r) {
      std::memset(copy_[r], 0, Format::kBytes);
      std::memcpy(copy_[r], at_[r], rest_bytes_);
    }
    for (int r = 0; r < kRows; ++r) at_.rows[r] = copy_[r];
    at_.offset = 0;
    return at_;
  }

 private:
  int64_t n_groups_, whole_groups_;
  size_t rest_bytes_;
  GroupOfRows<kRows> at_;
  const std::byte* ahead_;
  std::byte copy_[kRows][Format::kBytes];
};

}  // namespace parlance::matmul::avx512

#endif
