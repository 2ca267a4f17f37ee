// Tiles of few rows in bytes, included by avx512.cpp after few_rows.simd.h: compressed keys and values are
// multiplied by vpdpbusd as levels of 8 bits. Levels rounded to integers add 1e-5 or less to a format's mean
// square error, which is 7e-3 or more, queries rounded to a 127th of the largest of every 32 channels 4e-5.
// Keys of bytes are exact, and their queries have two bytes for a channel.
// Weights are rounded up or down by a fixed sequence, so that what many small ones lose together is small as
// well.

constexpr int64_t kByteBlock = 32;  // stored values that share a step
constexpr int64_t kGroup = 16;      // keys, or values, that are loaded together

// What a block kernel finds in its workspace.
struct ByteWorkspace {
  ByteWorkspace(std::byte* memory, int64_t head_dim)
      : steps(reinterpret_cast<f16_bits*>(memory)),
        weights(memory + static_cast<size_t>(head_dim / kByteBlock * kKeyBlock) * sizeof(f16_bits)),
        last_group(weights + 2 * kKeyBlock * 4) {}
  f16_bits* steps;        // [blocks][kKeyBlock]
  std::byte* weights;     // [2][kKeyBlock][4]
  std::byte* last_group;  // copies of the last rows, so that all of a group, and bytes behind it, can be read
};

inline size_t byte_workspace_bytes(int64_t head_dim) {
  const auto n = static_cast<size_t>(head_dim);
  return n / kByteBlock * kKeyBlock * sizeof(f16_bits) + 2 * kKeyBlock * 4 + kGroup * 2 * n + 64;
}

// Groups of rows. The last one is a copy, with zeros for rows that are missing, unless it is whole and
// nothing behind it is read.
template <class Codes>
class Groups {
 public:
  Groups(const std::byte* rows, int64_t n_keys, size_t row_bytes, std::byte* copy)
      : rows_(rows), row_bytes_(row_bytes), n_in_place_(n_keys / kGroup * kGroup), copy_(copy) {
    if (n_keys % kGroup == 0) {
      if (!Codes::kReadsBehind) return;
      n_in_place_ -= kGroup;
    }
    const auto n_bytes = static_cast<size_t>(n_keys - n_in_place_) * row_bytes;
    std::memcpy(copy, rows + static_cast<size_t>(n_in_place_) * row_bytes, n_bytes);
    std::memset(copy + n_bytes, 0, kGroup * row_bytes - n_bytes);
  }
  PARLANCE_INLINE const std::byte* at(int64_t j) const {
    return j < n_in_place_ ? rows_ + static_cast<size_t>(j) * row_bytes_ : copy_;
  }
  size_t row_bytes() const { return row_bytes_; }

 private:
  const std::byte* rows_;
  size_t row_bytes_;
  int64_t n_in_place_;
  std::byte* copy_;
};

// Words by number of two vectors: of sixteen keys with four words each, word `first` of all, then word first
// + 1.
constexpr std::array<uint16_t, 32> words_of_keys(int first) {
  std::array<uint16_t, 32> numbers{};
  for (size_t i = 0; i < 32; ++i)
    numbers[i] = static_cast<uint16_t>(i % 16 * 4 + i / 16 + static_cast<size_t>(first));
  return numbers;
}
constexpr std::array<uint16_t, 32> kFirstTwo = words_of_keys(0), kLastTwo = words_of_keys(2);

// Where the steps of four blocks lie in a row, in words from the first on.
template <class Codes>
constexpr std::array<uint16_t, 32> kStepWords = [] {
  std::array<uint16_t, 32> words{};
  for (size_t i = 0; i < 32; ++i) words[i] = static_cast<uint16_t>(Codes::step_at(i % 4) / 2);
  return words;
}();

// The steps of four blocks from `block` on, of a group of rows.
template <class Codes>
PARLANCE_VBMI PARLANCE_INLINE void gather_four_steps(const std::byte* rows, size_t row_bytes, int64_t block,
                                                     f16_bits (&steps)[4][kGroup]) {
  const size_t at = Codes::step_at(block), n_bytes = row_bytes - at;
  const __mmask64 in_row = n_bytes >= 64 ? ~uint64_t{0} : (uint64_t{1} << n_bytes) - 1;
  const I step_words = _mm512_loadu_si512(kStepWords<Codes>.data());
  I quads[4];
#pragma GCC unroll 4
  for (int z = 0; z < 4; ++z) {
    quads[z] = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      const std::byte* row = rows + static_cast<size_t>(4 * z + k) * row_bytes + at;
      quads[z] = _mm512_mask_permutexvar_epi16(quads[z], 0xfu << (4 * k), step_words,
                                               _mm512_maskz_loadu_epi8(in_row, row));
    }
  }
  const I low = _mm512_inserti64x4(quads[0], _mm512_castsi512_si256(quads[1]), 1);
  const I high = _mm512_inserti64x4(quads[2], _mm512_castsi512_si256(quads[3]), 1);
  _mm512_storeu_si512(steps[0], _mm512_permutex2var_epi16(low, _mm512_loadu_si512(kFirstTwo.data()), high));
  _mm512_storeu_si512(steps[2], _mm512_permutex2var_epi16(low, _mm512_loadu_si512(kLastTwo.data()), high));
}

// The steps of n_keys rows, up to a whole group.
template <class Codes>
PARLANCE_VBMI void gather_steps(const Groups<Codes>& groups, int64_t n_keys, int64_t n_blocks,
                                f16_bits* steps, Requests requests) {
  const int64_t share = requests.share(div_up(n_keys, kGroup));
  constexpr bool kIsFar = Codes::step_at(3) + sizeof(f16_bits) > 64;  // from those of the other blocks
  const I lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const I each = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(static_cast<int>(groups.row_bytes())));
  for (int64_t j = 0; j < n_keys; j += kGroup) {
    requests.ask(share);
    const std::byte* rows = groups.at(j);
    if constexpr (kIsFar) {
      for (int64_t b = 0; b < n_blocks; ++b) {
        const I gathered = _mm512_i32gather_epi32(each, rows + Codes::step_at(b), 1);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(steps + b * kKeyBlock + j),
                            _mm512_cvtepi32_epi16(gathered));
      }
    } else {
      for (int64_t b = 0; b < n_blocks; b += 4) {
        f16_bits four[4][kGroup];
        gather_four_steps<Codes>(rows, groups.row_bytes(), b, four);
        for (int64_t i = 0; i < std::min<int64_t>(4, n_blocks - b); ++i) {
          std::memcpy(steps + (b + i) * kKeyBlock + j, four[i], sizeof four[i]);
        }
      }
    }
  }
}

PARLANCE_VBMI PARLANCE_INLINE F load_steps(const f16_bits* steps) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(steps)));
}

// ---- Scores ----

// A prepared query: its bytes, block by block in the format's order, the high ones before the low ones where
// there are two for a channel; then for each block what unsigned levels add to their products, and the factor
// of these.
template <class Codes>
struct ByteQuery {
  static constexpr int kParts = Codes::kQueryParts;
  ByteQuery(std::byte* memory, int64_t head_dim)
      : values(reinterpret_cast<int8_t*>(memory)),
        offsets(reinterpret_cast<int32_t*>(memory + kParts * head_dim)),
        factors(reinterpret_cast<float*>(offsets + kParts * (head_dim / kByteBlock))) {}
  int8_t* values;    // [kParts][head_dim]
  int32_t* offsets;  // [blocks][kParts]
  float* factors;    // [blocks]
};

template <class Codes>
size_t byte_query_bytes(int64_t head_dim) {
  const int64_t n_block = head_dim / kByteBlock;
  return align_up(static_cast<size_t>(Codes::kQueryParts * (head_dim + 4 * n_block) + 4 * n_block),
                  size_t{64});
}

// How channels of a query become integers up to `most`: what they are multiplied with, and what an integer
// stands for then, which is no number where a channel is none.
struct QueryStep {
  float to_int, step;
};
inline QueryStep query_step(float largest, float most) {
  return {largest > kLeast ? most / largest : 0, largest / most};
}
inline QueryStep query_step(const float* x, int64_t n, float most) {
  float largest = 0, nothing = 0;
  for (int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::fabs(x[i]));
    nothing += 0 * x[i];
  }
  if (nothing != 0) return {0, nothing};  // NaN, which differs from zero
  return query_step(largest, most);
}

inline int32_t to_integer(float x, QueryStep step) {
  return step.to_int == 0 ? 0 : static_cast<int32_t>(std::nearbyint(x * step.to_int));
}

// The same for a block's channels.
PARLANCE_VBMI PARLANCE_INLINE QueryStep query_step(F low, F high, float most) {
  const F zero = Lanes::zero();
  const float nothing = _mm512_reduce_add_ps(_mm512_fmadd_ps(low, zero, _mm512_mul_ps(high, zero)));
  if (nothing != 0) return {0, nothing};  // NaN, which differs from zero
  return query_step(Lanes::largest(Lanes::maximum(_mm512_abs_ps(low), _mm512_abs_ps(high))), most);
}

// Sixteen channels of a block in the format's order, from number `first` on of that.
template <class Codes>
PARLANCE_VBMI PARLANCE_INLINE F in_order(F low, F high, int first) {
  static constexpr std::array<int32_t, 32> kNumbers = [] {
    std::array<int32_t, 32> numbers{};
    for (size_t i = 0; i < 32; ++i) numbers[i] = Codes::kOrder[i];
    return numbers;
  }();
  return _mm512_permutex2var_ps(low, _mm512_loadu_si512(kNumbers.data() + first), high);
}

PARLANCE_VBMI PARLANCE_INLINE void store_bytes(int8_t* bytes, I values) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes), _mm512_cvtepi32_epi8(values));
}

template <class Codes>
PARLANCE_VBMI void prepare_bytes(const Tile& tile, int64_t row, const float* query, float scale) {
  constexpr bool kHasTwo = Codes::kQueryParts == 2;
  const int64_t n = tile.head_dim_k;
  const ByteQuery<Codes> prepared(tile.query<std::byte>(row), n);
  for (int64_t b = 0; b < n / kByteBlock; ++b) {
    const F low = Lanes::load(query + b * kByteBlock), high = Lanes::load(query + b * kByteBlock + kWidth);
    const QueryStep step = query_step(low, high, kHasTwo ? 127 * 256 : 127);
    const __mmask16 counts = step.to_int == 0 ? 0 : 0xffff;  // NaN becomes zero, too
    I sums[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    for (int first = 0; first < kByteBlock; first += kWidth) {
      const F x = Lanes::multiply(in_order<Codes>(low, high, first), Lanes::broadcast(step.to_int));
      const I value = _mm512_maskz_cvtps_epi32(counts, x);
      int8_t* const at = prepared.values + b * kByteBlock + first;
      if constexpr (kHasTwo) {
        const I upper = _mm512_srai_epi32(_mm512_add_epi32(value, _mm512_set1_epi32(128)), 8);
        const I lower = _mm512_sub_epi32(value, _mm512_slli_epi32(upper, 8));
        store_bytes(at, upper);
        store_bytes(at + n, lower);
        sums[0] = _mm512_add_epi32(sums[0], upper);
        sums[1] = _mm512_add_epi32(sums[1], lower);
      } else {
        store_bytes(at, value);
        sums[0] = _mm512_add_epi32(sums[0], value);
      }
    }
    for (int p = 0; p < Codes::kQueryParts; ++p)
      prepared.offsets[b * Codes::kQueryParts + p] = -128 * _mm512_reduce_add_epi32(sums[p]);
    prepared.factors[b] = scale * unit_of<Codes>() * step.step;
  }
}

// Sixteen keys at a time, one in each lane: a dword of the query meets the same four channels of all of them.
template <class Codes, int kRows>
PARLANCE_VBMI void score_bytes_rows(const Tile& tile, int64_t first_row, const Groups<Codes>& groups,
                                    int64_t n_keys, const f16_bits* steps, Requests requests) {
  constexpr int kPlanes = Codes::kPlanes, kLevels = 2 / kPlanes, kParts = Codes::kQueryParts;
  const int64_t n_blocks = tile.head_dim_k / kByteBlock;
  const int64_t share = requests.share(div_up(n_keys, kGroup) * n_blocks);
  const typename Codes::Table table = table_of<Codes, 128>();
  for (int64_t j = 0; j < n_keys; j += kGroup) {
    const std::byte* keys = groups.at(j);
    F scores[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) scores[r] = Lanes::zero();
    for (int64_t b = 0; b < n_blocks; ++b) {
      requests.ask(share);
      I planes[kPlanes][4];
#pragma GCC unroll 4
      for (int z = 0; z < 4; ++z) {
        const std::byte* key = keys + static_cast<size_t>(z) * tile.k_row_bytes + Codes::codes_at(b);
        const std::byte* const at[4] = {key, key + 4 * tile.k_row_bytes, key + 8 * tile.k_row_bytes,
                                        key + 12 * tile.k_row_bytes};
        I loaded[kPlanes];
        Codes::load(at, table, loaded);
#pragma GCC unroll 2
        for (int p = 0; p < kPlanes; ++p) planes[p][z] = loaded[p];
      }
      const int32_t* q[kRows][kParts];
      I sums[kRows][kParts][kLevels];  // each waits for its products: several take turns
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const ByteQuery<Codes> query(tile.query<std::byte>(first_row + r), tile.head_dim_k);
#pragma GCC unroll 2
        for (int h = 0; h < kParts; ++h) {
          q[r][h] = reinterpret_cast<const int32_t*>(query.values + h * tile.head_dim_k + b * kByteBlock);
          sums[r][h][0] = _mm512_set1_epi32(query.offsets[b * kParts + h]);
          if constexpr (kLevels == 2) sums[r][h][1] = _mm512_setzero_si512();
        }
      }
#pragma GCC unroll 2
      for (int p = 0; p < kPlanes; ++p) {
        simd::transpose_words(planes[p]);  // lane 4 q + z of the t-th: dword t of quarter q of the z-th
#pragma GCC unroll 4
        for (int t = 0; t < 4; ++t) {
          I levels[kLevels];
          Codes::levels(planes[p][t], table, levels);
#pragma GCC unroll 2
          for (int l = 0; l < kLevels; ++l) {
            const int word = 4 * (p * kLevels + l) + t;
#pragma GCC unroll 4
            for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
              for (int h = 0; h < kParts; ++h) {
                sums[r][h][l] =
                    _mm512_dpbusd_epi32(sums[r][h][l], levels[l], _mm512_set1_epi32(q[r][h][word]));
              }
            }
          }
        }
      }
      const F step = load_steps(steps + b * kKeyBlock + j);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const ByteQuery<Codes> query(tile.query<std::byte>(first_row + r), tile.head_dim_k);
        const F factor = Lanes::multiply(step, Lanes::broadcast(query.factors[b]));
        I parts[kParts];
#pragma GCC unroll 2
        for (int h = 0; h < kParts; ++h) {
          parts[h] = sums[r][h][0];
          if constexpr (kLevels == 2) parts[h] = _mm512_add_epi32(parts[h], sums[r][h][1]);
        }
        I sum = parts[0];
        if constexpr (kParts == 2) sum = _mm512_add_epi32(_mm512_slli_epi32(sum, 8), parts[1]);
        scores[r] = Lanes::multiply_add(_mm512_cvtepi32_ps(sum), factor, scores[r]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      Lanes::store(tile.scores + (first_row + r) * kKeyBlock + j, number_or_nan(scores[r]));
    }
  }
}

template <class Codes>
PARLANCE_VBMI void score_bytes(const Tile& tile, const std::byte* keys, int64_t n_keys,
                               const std::byte* next) {
  const ByteWorkspace work(tile.workspace, tile.head_dim_k);
  const Groups<Codes> groups(keys, n_keys, tile.k_row_bytes, work.last_group);
  Requests requests(tile, next, n_keys);
  gather_steps<Codes>(groups, n_keys, tile.head_dim_k / kByteBlock, work.steps, requests.take(25));
  in_groups_of_rows(tile, next, [&]<int kRows>(int64_t row, const std::byte*) {
    score_bytes_rows<Codes, kRows>(tile, row, groups, n_keys, work.steps, requests.take(100));
  });
}
