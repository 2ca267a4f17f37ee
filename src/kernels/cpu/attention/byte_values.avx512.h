// Weighted sums of values in bytes, included by avx512.cpp after byte_rows.avx512.h: the levels of four
// values lie side by side, so that vpdpbusd takes a channel of all four. Only for formats whose steps are
// never negative, in heads of whole 128s; their sums are kept in the order of the bytes until finish().

constexpr int64_t kByteChunk = 4 * kByteBlock;
constexpr float kLargestByte = 255;

// What is added to the weights of a group before they are cut off: each sixteenth once, neighbours far apart.
constexpr std::array<float, kGroup> kDither = [] {
  std::array<float, kGroup> dither{};
  for (int i = 0; i < kGroup; ++i) {
    const int reversed = i / 8 + i / 4 % 2 * 2 + i / 2 % 2 * 4 + i % 2 * 8;
    dither[static_cast<size_t>(i)] = (static_cast<float>(reversed) + 0.5f) / 16;
  }
  return dither;
}();

// The weights of a row, times the steps of four blocks, as bytes: quarter g of a group's 64 bytes are those
// of values 4 g .. 4 g + 3, block by block. Returns in each quarter what one of its block's bytes stands for.
PARLANCE_VBMI PARLANCE_INLINE F pack_byte_weights(const Tile& tile, int64_t row, int64_t n_keys,
                                                  const f16_bits* steps, float unit, std::byte* packed,
                                                  Requests requests) {
  const int64_t share = requests.share(div_up(n_keys, kGroup));
  const float* weights = tile.scores + row * kKeyBlock;
  F largest[4];
#pragma GCC unroll 4
  for (int b = 0; b < 4; ++b) largest[b] = Lanes::broadcast(kLeast);
  for (int64_t j = 0; j < n_keys; j += kGroup) {
    const F weight = Lanes::load(weights + j);
#pragma GCC unroll 4
    for (int b = 0; b < 4; ++b) {
      const F product = Lanes::multiply(weight, load_steps(steps + b * kKeyBlock + j));
      largest[b] = larger_magnitude(largest[b], product);
    }
  }
  float most[4];
#pragma GCC unroll 4
  for (int b = 0; b < 4; ++b)  // of magnitudes: NaN comes before all others
    most[b] = std::bit_cast<float>(_mm512_reduce_max_epi32(_mm512_castps_si512(largest[b])));
  F to_byte[4];
#pragma GCC unroll 4
  for (int b = 0; b < 4; ++b) to_byte[b] = Lanes::broadcast(kLargestByte / most[b]);
  const F dither = Lanes::load(kDither.data());
  for (int64_t j = 0; j < n_keys; j += kGroup) {
    requests.ask(share);
    const F weight = Lanes::load(weights + j);
    I whole[4];
#pragma GCC unroll 4
    for (int b = 0; b < 4; ++b) {
      const F product = Lanes::multiply(weight, load_steps(steps + b * kKeyBlock + j));
      whole[b] = _mm512_cvttps_epi32(Lanes::multiply_add(product, to_byte[b], dither));
    }
    const I bytes =
        _mm512_packus_epi16(_mm512_packs_epi32(whole[0], whole[1]), _mm512_packs_epi32(whole[2], whole[3]));
    _mm512_storeu_si512(packed + j * 4, bytes);
  }
  const F by_block = _mm512_broadcast_f32x4(_mm_loadu_ps(most));
  const I quarter = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  return Lanes::multiply(_mm512_permutexvar_ps(quarter, by_block), Lanes::broadcast(unit / kLargestByte));
}

// Byte j of four vectors' quarters, side by side: in dword j % 4 of that quarter of vector j / 4.
PARLANCE_VBMI PARLANCE_INLINE void interleave_bytes(I (&x)[4]) {
  const I ab_low = _mm512_unpacklo_epi8(x[0], x[1]), ab_high = _mm512_unpackhi_epi8(x[0], x[1]);
  const I cd_low = _mm512_unpacklo_epi8(x[2], x[3]), cd_high = _mm512_unpackhi_epi8(x[2], x[3]);
  x[0] = _mm512_unpacklo_epi16(ab_low, cd_low);
  x[1] = _mm512_unpackhi_epi16(ab_low, cd_low);
  x[2] = _mm512_unpacklo_epi16(ab_high, cd_high);
  x[3] = _mm512_unpackhi_epi16(ab_high, cd_high);
}

// 128 channels from `chunk` on of kRows rows. Element 16 n + 4 b + i of the sums is byte 4 n + i of block b.
template <class Codes, int kRows>
PARLANCE_VBMI void accumulate_bytes_rows(const Tile& tile, int64_t first_row, const Groups<Codes>& groups,
                                         int64_t n_keys, int64_t chunk, const ByteWorkspace& work,
                                         Requests requests) {
  constexpr int kPlanes = Codes::kPlanes, kLevels = 2 / kPlanes;
  const int64_t first_block = chunk / kByteBlock;
  F factors[kRows];
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    factors[r] = pack_byte_weights(tile, first_row + r, n_keys, work.steps + first_block * kKeyBlock,
                                   unit_of<Codes>(), work.weights + r * kKeyBlock * 4, requests.take(15));
  }
  const int64_t share = requests.share(div_up<int64_t>(n_keys, 4));
  const typename Codes::Table table = table_of<Codes, 0>();
  Ints sums[kRows][8];
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < 8; ++n) sums[r][n] = Ints{};
  }
  for (int64_t j = 0; j < n_keys; j += 4) {
    requests.ask(share);
    const std::byte* rows =
        groups.at(j / kGroup * kGroup) + static_cast<size_t>(j % kGroup) * tile.v_row_bytes;
    I planes[kPlanes][4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      const std::byte* row = rows + static_cast<size_t>(k) * tile.v_row_bytes;
      const std::byte* const at[4] = {
          row + Codes::codes_at(first_block), row + Codes::codes_at(first_block + 1),
          row + Codes::codes_at(first_block + 2), row + Codes::codes_at(first_block + 3)};
      I loaded[kPlanes];
      Codes::load(at, table, loaded);
#pragma GCC unroll 2
      for (int p = 0; p < kPlanes; ++p) planes[p][k] = loaded[p];
    }
    I weights[kRows];
    const I quarter = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      weights[r] = _mm512_permutexvar_epi32(
          quarter, _mm512_castsi128_si512(load_quarter(work.weights + (r * kKeyBlock + j) * 4)));
    }
#pragma GCC unroll 2
    for (int p = 0; p < kPlanes; ++p) {
      interleave_bytes(planes[p]);
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) {
        I levels[kLevels];
        Codes::levels(planes[p][t], table, levels);
#pragma GCC unroll 2
        for (int l = 0; l < kLevels; ++l) {
#pragma GCC unroll 2
          for (int r = 0; r < kRows; ++r) {
            Ints& sum = sums[r][4 * (p * kLevels + l) + t];
            sum = (Ints)_mm512_dpbusd_epi32((I)sum, weights[r], levels[l]);
          }
        }
      }
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    float* out = tile.out + (first_row + r) * tile.out_stride + chunk;
#pragma GCC unroll 8
    for (int n = 0; n < 8; ++n) {
      const F sum = _mm512_cvtepi32_ps((I)sums[r][n]);
      Lanes::store(out + n * kWidth, Lanes::multiply_add(sum, factors[r], Lanes::load(out + n * kWidth)));
    }
  }
}

PARLANCE_INLINE bool is_in_bytes(const Tile& tile) {
  return tile.head_dim_v % kByteChunk == 0;
}

template <class Codes, class Rows>
PARLANCE_VBMI void accumulate_bytes(const Tile& tile, const std::byte* values, int64_t n_keys,
                                    const std::byte* next) {
  if (!is_in_bytes(tile)) return accumulate_by_row<Rows>(tile, values, n_keys, next);
  const ByteWorkspace work(tile.workspace, tile.head_dim_v);
  const Groups<Codes> groups(values, n_keys, tile.v_row_bytes, work.last_group);
  Requests requests(tile, next, n_keys);
  gather_steps<Codes>(groups, n_keys, tile.head_dim_v / kByteBlock, work.steps, requests.take(20));
  for (int64_t chunk = 0; chunk < tile.head_dim_v; chunk += kByteChunk) {
    for (int64_t row = 0; row < tile.n_rows; row += 2) {
      if (row + 1 == tile.n_rows) {
        accumulate_bytes_rows<Codes, 1>(tile, row, groups, n_keys, chunk, work, requests.take(100));
      } else {
        accumulate_bytes_rows<Codes, 2>(tile, row, groups, n_keys, chunk, work, requests.take(100));
      }
    }
  }
}

// For each value of a chunk, where accumulate_bytes_rows() has its sum.
template <class Codes>
constexpr std::array<int32_t, kByteChunk> kPlacesOfSums = [] {
  std::array<int32_t, kByteChunk> places{};
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t n = i / 16, block = i % 16 / 4;
    places[block * kByteBlock + Codes::kOrder[4 * n + i % 4]] = static_cast<int32_t>(i);
  }
  return places;
}();

template <class Codes>
PARLANCE_VBMI void finish_bytes(const Tile& tile, int64_t row, float* sums) {
  if (!is_in_bytes(tile)) return finish_f32(tile, row, sums);
  const float* out = tile.out + row * tile.out_stride;
  for (int64_t i = 0; i < tile.head_dim_v; i += kWidth) {
    const I places = _mm512_loadu_si512(kPlacesOfSums<Codes>.data() + i % kByteChunk);
    Lanes::store(sums + i, _mm512_i32gather_ps(places, out + i / kByteChunk * kByteChunk, sizeof(float)));
  }
}
