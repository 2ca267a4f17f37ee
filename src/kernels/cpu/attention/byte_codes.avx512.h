// Compressed formats as byte_rows.avx512.h meets them: blocks of 32 values that share a step. A quarter of a
// vector holds the bytes of a block; load() makes kPlanes such vectors of four blocks, and each of these
// gives 2 / kPlanes vectors of levels. So a block's values lie in two halves of 16 bytes: byte j of half h is
// value kOrder[16 h + j]. Tables of 64 hold the levels as often as they fit: what lies above a code does not
// matter.

#define PARLANCE_VBMI PARLANCE_AVX512_VBMI

using ByteTable = std::array<int8_t, 64>;
using Order = std::array<uint8_t, 32>;

constexpr int nearest_integer(float x) {
  return static_cast<int>(x + (x < 0 ? -0.5f : 0.5f));
}

// What an integer level of 1 stands for: of units that make the largest level 64 to 127, in quarters, the one
// in which all levels are nearest to integers.
template <size_t n>
constexpr float byte_unit(const std::array<float, n>& levels) {
  const float largest = std::max(levels[n - 1], -levels[0]);
  float least = 0, best = 0;
  for (int quarters = 4 * 64; quarters <= 4 * 127; ++quarters) {
    const float unit = 4 * largest / static_cast<float>(quarters);
    float error = 0;
    for (const float level : levels) {
      const float e = level - unit * static_cast<float>(nearest_integer(level / unit));
      error += e * e;
    }
    if (best == 0 || error < least) {
      least = error;
      best = unit;
    }
  }
  return best;
}

// Integer levels; an offset of 128 makes unsigned bytes of them.
template <size_t n>
constexpr ByteTable byte_table(const std::array<float, n>& levels, int offset) {
  const float unit = byte_unit(levels);
  ByteTable table{};
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<int8_t>(nearest_integer(levels[i % n] / unit) + offset);
  }
  return table;
}

PARLANCE_VBMI PARLANCE_INLINE __m128i load_quarter(const std::byte* x) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
}

PARLANCE_VBMI PARLANCE_INLINE I load_quarters(const std::byte* const (&at)[4]) {
  I x = _mm512_castsi128_si512(load_quarter(at[0]));
  x = _mm512_mask_broadcast_i32x4(x, 0x00f0, load_quarter(at[1]));
  x = _mm512_mask_broadcast_i32x4(x, 0x0f00, load_quarter(at[2]));
  return _mm512_mask_broadcast_i32x4(x, 0xf000, load_quarter(at[3]));
}

// What most formats have in common: a byte for a channel of the query is enough.
struct CoarseCodes {
  static constexpr int kQueryParts = 1;
};

// 32 codes of four bits in 16 bytes.
struct NibbleCodes : CoarseCodes {
  using Table = I;
  static constexpr int kPlanes = 1;
  static constexpr bool kReadsBehind = false;  // the end of a row
  PARLANCE_VBMI static PARLANCE_INLINE void load(const std::byte* const (&at)[4], const Table&,
                                                 I (&planes)[kPlanes]) {
    planes[0] = load_quarters(at);
  }
  PARLANCE_VBMI static PARLANCE_INLINE void levels(I plane, const Table& table, I (&levels)[2]) {
    levels[0] = _mm512_permutexvar_epi8(plane, table);
    levels[1] = _mm512_permutexvar_epi8(_mm512_srli_epi16(plane, 4), table);
  }
};

constexpr Order kLowNibblesFirst = [] {
  Order order{};
  for (size_t i = 0; i < 32; ++i) order[i] = static_cast<uint8_t>(i);
  return order;
}();

// The steps of blocks are block_bytes apart; those of q4_polar's four quarters are the same.
struct Q4Bytes : NibbleCodes {
  static constexpr const auto& kLevels = kLevelsQ4_0;
  static constexpr const Order& kOrder = kLowNibblesFirst;
  static constexpr size_t step_at(int64_t block) { return static_cast<size_t>(block) * sizeof(BlockQ4_0); }
  static constexpr size_t codes_at(int64_t block) { return step_at(block) + offsetof(BlockQ4_0, q); }
};

struct Tbq4Bytes : NibbleCodes {
  static constexpr const auto& kLevels = kCentroids4;
  static constexpr const Order& kOrder = kLowNibblesFirst;
  static constexpr size_t step_at(int64_t block) { return static_cast<size_t>(block) * sizeof(BlockTbq4_0); }
  static constexpr size_t codes_at(int64_t block) { return step_at(block) + offsetof(BlockTbq4_0, codes); }
};

// Quarters of a block of 128, which share its length.
struct PolarBytes : NibbleCodes {
  static constexpr const auto& kLevels = kPolarCentroids;
  static constexpr Order kOrder = [] {
    Order order{};
    for (size_t i = 0; i < 32; ++i) order[i] = static_cast<uint8_t>(2 * (i % 16) + i / 16);
    return order;
  }();
  static constexpr size_t step_at(int64_t block) {
    return static_cast<size_t>(block / 4) * sizeof(BlockQ4Polar);
  }
  static constexpr size_t codes_at(int64_t block) {
    return step_at(block) + offsetof(BlockQ4Polar, codes) + static_cast<size_t>(block % 4) * 16;
  }
};

// Bytes that are levels themselves.
struct Q8Bytes {
  using Table = I;
  static constexpr int kQueryParts = 2;
  static constexpr int kPlanes = 2;
  static constexpr bool kReadsBehind = false;
  static constexpr const Order& kOrder = kLowNibblesFirst;  // as they are
  static constexpr size_t step_at(int64_t block) { return static_cast<size_t>(block) * sizeof(BlockQ8_0); }
  static constexpr size_t codes_at(int64_t block) { return step_at(block) + offsetof(BlockQ8_0, q); }
  static constexpr float unit() { return 1; }
  PARLANCE_VBMI static PARLANCE_INLINE Table table(int offset) {
    return _mm512_set1_epi8(static_cast<char>(offset));
  }
  PARLANCE_VBMI static PARLANCE_INLINE void load(const std::byte* const (&at)[4], const Table&,
                                                 I (&planes)[kPlanes]) {
    planes[0] = load_quarters(at);
    planes[1] = load_quarters({at[0] + 16, at[1] + 16, at[2] + 16, at[3] + 16});
  }
  PARLANCE_VBMI static PARLANCE_INLINE void levels(I plane, const Table& table, I (&levels)[1]) {
    levels[0] = _mm512_xor_si512(plane, table);
  }
};

// For each byte of a quarter, at which bit of its integer the code begins: from first_code and first_code +
// 16 on.
constexpr std::array<uint8_t, 64> shifts_of_3(int first_code) {
  std::array<uint8_t, 64> shifts{};
  for (size_t i = 0; i < 64; ++i) {
    shifts[i] = static_cast<uint8_t>(3 * (first_code + static_cast<int>(i % 8)) + (i / 8 % 2 == 0 ? 16 : 0));
  }
  return shifts;
}

// The step and the 32 codes of three bits behind it are read as two integers of 64 bits: codes 0 to 15 lie
// from bit 16 of the first on, the others from bit 0 of the second, whose last 16 bits belong to what
// follows.
struct Tbq3Bytes : CoarseCodes {
  using Table = I;
  static constexpr int kPlanes = 2;
  static constexpr bool kReadsBehind = true;
  static constexpr const auto& kLevels = kCentroids3;
  static constexpr Order kOrder = [] {
    Order order{};
    for (size_t i = 0; i < 32; ++i) order[i] = static_cast<uint8_t>(i % 8 + i / 8 % 2 * 16 + i / 16 * 8);
    return order;
  }();
  static constexpr size_t step_at(int64_t block) { return static_cast<size_t>(block) * sizeof(BlockTbq3_0); }
  static constexpr size_t codes_at(int64_t block) { return step_at(block); }

  static constexpr std::array<uint8_t, 64> kShifts[kPlanes] = {shifts_of_3(0), shifts_of_3(8)};

  PARLANCE_VBMI static PARLANCE_INLINE void load(const std::byte* const (&at)[4], const Table&,
                                                 I (&planes)[kPlanes]) {
    const I bits = load_quarters(at);
#pragma GCC unroll 2
    for (int p = 0; p < kPlanes; ++p) {
      planes[p] = _mm512_multishift_epi64_epi8(_mm512_loadu_si512(kShifts[p].data()), bits);
    }
  }
  PARLANCE_VBMI static PARLANCE_INLINE void levels(I plane, const Table& table, I (&levels)[1]) {
    levels[0] = _mm512_permutexvar_epi8(plane, table);
  }
};

// Levels of 512 states, the last ones of 9 bits that begin at every third: the low 7 choose in four tables of
// 128, the others one of these. Read as integers of 64 bits, with 16 states in each.
struct TcqBytes : CoarseCodes {
  struct Table {
    I parts[8];
    I offset;  // is added by exclusive or
  };
  static constexpr int kPlanes = 2;
  static constexpr bool kReadsBehind = true;
  static constexpr const Order& kOrder = Tbq3Bytes::kOrder;
  static constexpr size_t step_at(int64_t block) {
    return static_cast<size_t>(block / 4) * sizeof(BlockTbq3Tcq);
  }
  static constexpr size_t codes_at(int64_t block) {
    return step_at(block) + offsetof(BlockTbq3Tcq, path) + static_cast<size_t>(block % 4) * 12;
  }
  static float unit() {
    static const float kUnit = [] {
      const auto [least, largest] = std::minmax_element(kTrellisValues.begin(), kTrellisValues.end());
      return std::max(-*least, *largest) / 127;
    }();
    return kUnit;
  }

  PARLANCE_VBMI static Table table(int offset) {
    static const std::array<int8_t, kTrellisStates> levels = [] {
      std::array<int8_t, kTrellisStates> rounded{};
      for (size_t i = 0; i < rounded.size(); ++i) {
        rounded[i] = static_cast<int8_t>(std::clamp(nearest_integer(kTrellisValues[i] / unit()), -127, 127));
      }
      return rounded;
    }();
    Table table;
    for (int i = 0; i < 8; ++i) table.parts[i] = _mm512_loadu_si512(levels.data() + 64 * i);
    table.offset = _mm512_set1_epi8(static_cast<char>(offset));
    return table;
  }

  // The levels of eight states in each integer, from a bit on.
  PARLANCE_VBMI static PARLANCE_INLINE I look_up(I bits, int first_bit, const Table& table) {
    const I shifts = _mm512_add_epi8(_mm512_set1_epi64(0x1512'0f0c'0906'0300),
                                     _mm512_set1_epi8(static_cast<char>(first_bit)));
    const I low = _mm512_multishift_epi64_epi8(shifts, bits);
    const I high = _mm512_multishift_epi64_epi8(_mm512_add_epi8(shifts, _mm512_set1_epi8(1)), bits);
    const __mmask64 bit_7 = _mm512_movepi8_mask(low), bit_8 = _mm512_movepi8_mask(high);
    const I a = _mm512_permutex2var_epi8(table.parts[0], low, table.parts[1]);
    const I b = _mm512_permutex2var_epi8(table.parts[2], low, table.parts[3]);
    const I c = _mm512_permutex2var_epi8(table.parts[4], low, table.parts[5]);
    const I d = _mm512_permutex2var_epi8(table.parts[6], low, table.parts[7]);
    return _mm512_mask_blend_epi8(bit_8, _mm512_mask_blend_epi8(bit_7, a, b),
                                  _mm512_mask_blend_epi8(bit_7, c, d));
  }

  PARLANCE_VBMI static PARLANCE_INLINE void load(const std::byte* const (&at)[4], const Table& table,
                                                 I (&planes)[kPlanes]) {
    // Sixteen states are 48 bits and end 6 bits later: the second ones begin in byte 6.
    const __m128i sixteen_each = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 8, 9, 10, 11, 12, 13);
    const I bits = _mm512_shuffle_epi8(load_quarters(at), _mm512_broadcast_i32x4(sixteen_each));
    planes[0] = look_up(bits, 0, table);
    planes[1] = look_up(bits, 24, table);
  }
  PARLANCE_VBMI static PARLANCE_INLINE void levels(I plane, const Table& table, I (&levels)[1]) {
    levels[0] = _mm512_xor_si512(plane, table.offset);
  }
};

// What an integer level of 1 stands for, and tables of levels with an offset of 128 (unsigned) or 0 (signed).
template <class Codes>
float unit_of() {
  if constexpr (requires { Codes::unit(); }) {
    return Codes::unit();
  } else {
    constexpr float kUnit = byte_unit(Codes::kLevels);
    return kUnit;
  }
}
template <class Codes, int offset>
PARLANCE_VBMI PARLANCE_INLINE typename Codes::Table table_of() {
  if constexpr (requires { Codes::unit(); }) {
    return Codes::table(offset);
  } else {
    static constexpr ByteTable kTable = byte_table(Codes::kLevels, offset);
    return _mm512_loadu_si512(kTable.data());
  }
}
