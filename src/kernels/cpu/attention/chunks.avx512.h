// Rows of a cache 32 elements at a time, which become a vector of pairs of 16 bits; included after
// rows.simd.h.

constexpr int64_t kChunk = 32;

// Elements i .. i + 31 of a row of n as two vectors; where they are not kWhole, those past the end are zero.
template <class Rows, bool kWhole>
PARLANCE_SIMD PARLANCE_INLINE void load_chunk(const std::byte* row, int64_t i, int64_t n, F& low, F& high) {
  if constexpr (Rows::kVectors == 2) {
    F x[2];
    Rows::load(row, i, x);
    low = x[0];
    high = x[1];
  } else {
    F x[1];
    if constexpr (kWhole) {
      Rows::load(row, i, x);
      low = x[0];
      Rows::load(row, i + kWidth, x);
      high = x[0];
    } else if (i + kWidth <= n) {
      Rows::load(row, i, x);
      low = x[0];
      high = Rows::load_first(row, i + kWidth, n - i - kWidth);
    } else {
      low = Rows::load_first(row, i, n - i);
      high = Lanes::zero();
    }
  }
}
