// Stored keys and values on their way from shared memory to tensor cores, as registers that are parts of a
// matrix: pairs of 16-bit floats, each of two stored values of one row. Which two is for a format to say, so
// that a pair costs little; queries and results are arranged accordingly. Where codes stand for levels, both
// of a pair are looked up at once, in a table of which each lane has a copy in a bank of its own.
#pragma once

#include "kernels/cuda/attention/unpack.cuh"

namespace parlance::cuda::attention {

__device__ inline uint32_t shared_word(uint32_t at) {
  uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(at));
  return word;
}
__device__ inline uint32_t shared_half(uint32_t at) {
  uint16_t half;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(half) : "r"(at));
  return half;
}

// n_bits of a row of words from a bit on, moved to bit `to`, with others around them.
template <int n_bits, int to, int kWords>
__device__ inline uint32_t bits_moved(const uint32_t (&words)[kWords], int bit) {
  const int word = bit / 32, at = bit % 32;
  if (at + n_bits > 32) return __funnelshift_r(words[word], words[(word + 1) % kWords], at - to);
  return at >= to ? words[word] >> (at - to) : words[word] << (to - at);
}

// x & mask | other in one instruction, whatever is known of `other`.
__device__ inline uint32_t masked_or(uint32_t x, uint32_t mask, uint32_t other) {
  uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(x), "r"(mask), "r"(other));
  return result;
}

// Bits of x where the mask has them, of y elsewhere, in one instruction.
__device__ inline uint32_t selected(uint32_t mask, uint32_t x, uint32_t y) {
  uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(result) : "r"(mask), "r"(x), "r"(y));
  return result;
}

// ---- Tables ----

inline constexpr int kSignPairs = 64;
inline constexpr int kCopyBytes = 32 * 4;  // of an entry, a word for each lane

// How many pairs of codes have copies.
__host__ __device__ constexpr int copied_pairs(KvFormat format) {
  if (format == KvFormat::tbq3_0) return 64;
  const bool has_nibbles =
      format == KvFormat::tbq4_0 || format == KvFormat::q4_polar || format == KvFormat::q4_polar_residual;
  return has_nibbles ? 256 : 0;
}

// How pairs of codes are looked up.
enum class PairKeys {
  by_field,  // tables of a side, or of both where they are the same: two instructions for a pair
  by_side,   // copies for keys lie beside those for values, so that a byte and a lane make an address in one
  by_place,  // tbq3_0 alone: six bits are either end of a byte, and copies for both ends lie side by side
};

// Where tables are in shared memory, as addresses in it.
template <PairKeys kKeys>
struct PairTables {
  static constexpr int kEntryBytes = kKeys == PairKeys::by_field ? kCopyBytes : 2 * kCopyBytes;
  uint32_t copies, trellis, signs, end;  // a trellis has copies of each level, twice in a word

  __host__ __device__ static constexpr int copies_bytes(KvFormat k, KvFormat v) {
    const int n_k = copied_pairs(k), n_v = copied_pairs(v);
    return (kKeys == PairKeys::by_place ? 256 : n_k > n_v ? n_k : n_v) * kEntryBytes;
  }

  // Of both formats, from `at` on, a multiple of 16.
  __host__ __device__ PairTables(uint32_t at, KvFormat k, KvFormat v) : copies(at) {
    trellis = copies + static_cast<uint32_t>(copies_bytes(k, v));
    const bool has_trellis = k == KvFormat::tbq3_tcq || v == KvFormat::tbq3_tcq;
    signs = trellis + (has_trellis ? kTrellisSize * kCopyBytes : 0);
    const bool has_signs = k == KvFormat::q4_polar_residual || v == KvFormat::q4_polar_residual;
    end = signs + (has_signs ? kSignPairs * 4 : 0);
  }

  // By the whole block of so many threads, which has to wait for itself then.
  template <int kThreads>
  __device__ void fill(KvFormat k, KvFormat v) const {
    if constexpr (kKeys == PairKeys::by_place) {
      for_each_pair<3, kThreads>(kLevels3.of, [&](int key, uint32_t pair) {
#pragma unroll
        for (int others = 0; others < 4; ++others) {  // that a byte's other two bits may be
          store_copies(others << 6 | key, 0, pair);
          store_copies(key << 2 | others, kCopyBytes, pair);
        }
      });
    } else if constexpr (kKeys == PairKeys::by_side) {
      with_pairs<kThreads>(k, [&](int key, uint32_t pair) {
        store_copies(key, 0, pair);
        if (v == k) store_copies(key, kCopyBytes, pair);
      });
      if (v != k)
        with_pairs<kThreads>(v, [&](int key, uint32_t pair) { store_copies(key, kCopyBytes, pair); });
    } else {
      with_pairs<kThreads>(copied_pairs(k) > 0 ? k : v,
                           [&](int key, uint32_t pair) { store_copies(key, 0, pair); });
    }
    if (signs > trellis) {
      // A warp has consecutive levels, four of which it stores at once.
      constexpr int kOwn = kTrellisSize / kThreads, kAtOnce = 4;
      const unsigned lane = threadIdx.x % 32, first = threadIdx.x / 32 * 32 * kOwn;
#pragma unroll
      for (int of_lane = 0; of_lane < kOwn; ++of_lane) {
        const float level = kTrellisLevels[first + 32 * of_lane + lane];
        const uint32_t twice = pair_of_floats(level, level);
#pragma unroll
        for (int i = 0; i < 32; i += kAtOnce) {
          const unsigned at = i + lane / 8;
          store_four(trellis + (first + 32 * of_lane + at) * kCopyBytes + lane % 8 * 16,
                     __shfl_sync(0xffffffff, twice, at));
        }
      }
    }
    if (end > signs && threadIdx.x < kSignPairs) {
      const float* of = kPolarResidualSigns.of + 2 * threadIdx.x;
      store(signs + 4 * threadIdx.x, pair_of_floats(kPolarResidualStep * of[0], kPolarResidualStep * of[1]));
    }
  }

  // This lane's copy of an entry, for keys, and how far those for values in a format are behind.
  __device__ static uint32_t own_copy() {
    return 4 * (threadIdx.x % 32);
  }
  __device__ static constexpr uint32_t copies_apart(KvFormat format) {
    return kKeys == PairKeys::by_side && copied_pairs(format) > 0 ? kCopyBytes : 0;
  }
  // The pair that a byte of words is the key of.
  template <int kWords>
  __device__ uint32_t of_byte(const uint32_t (&words)[kWords], int i, uint32_t own_copy) const {
    if constexpr (kKeys != PairKeys::by_field)
      return shared_word(copies + __byte_perm(words[i / 4], own_copy, 0x5504 | i % 4 << 4));
    const uint32_t moved = i % 4 == 0 ? words[i / 4] << 7 : words[i / 4] >> (8 * (i % 4) - 7);
    return shared_word(copies + masked_or(moved, 0x7f80, own_copy));
  }
  // The level of a state, twice, whose nine bits begin at a bit of a row of words.
  template <int kWords>
  __device__ uint32_t of_state(const uint32_t (&words)[kWords], int bit, uint32_t own_copy) const {
    return shared_word(trellis + masked_or(bits_moved<9, 7>(words, bit), 511 << 7, own_copy));
  }
  // The pair that six bits of a row of words, from a multiple of six on, are the key of.
  template <int kWords>
  __device__ uint32_t of_six_bits(const uint32_t (&words)[kWords], int bit, uint32_t own_copy) const {
    if constexpr (kKeys == PairKeys::by_place) {
      // Of four times six bits, the first and the last are an end of a byte, and the others are four bits on.
      const bool is_moved = bit % 24 == 6 || bit % 24 == 12, is_high = bit % 24 == 6 || bit % 24 == 18;
      const int byte = (bit - (is_moved ? 4 : 0)) / 8, word = byte / 4;
      const uint32_t next = word + 1 < kWords ? words[word + 1 < kWords ? word + 1 : word] : 0;
      const uint32_t of = is_moved ? __funnelshift_r(words[word], next, 4) : words[word];
      const uint32_t copy = is_high ? own_copy + kCopyBytes : own_copy;
      return shared_word(copies + __byte_perm(of, copy, 0x5504 | byte % 4 << 4));
    }
    constexpr int kTo = kKeys == PairKeys::by_field ? 7 : 8;
    return shared_word(copies + masked_or(bits_moved<6, kTo>(words, bit), 63 << kTo, own_copy));
  }

 private:
  __device__ static void store(uint32_t at, uint32_t word) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(word) : "memory");
  }
  __device__ static uint32_t pair_of_floats(float first, float second) {
    return bits_of(__floats2half2_rn(first, second));
  }
  __device__ static void store_four(uint32_t at, uint32_t word) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(word) : "memory");
  }
  // The lane's four copies of an entry, for all lanes by eight of them.
  __device__ void store_copies(int entry, int side, uint32_t pair) const {
    store_four(copies + entry * kEntryBytes + side + threadIdx.x % 8 * 16, pair);
  }
  template <int kThreads, class Visit>
  __device__ static void with_pairs(KvFormat format, const Visit& visit) {
    if (format == KvFormat::tbq3_0) return for_each_pair<3, kThreads>(kLevels3.of, visit);
    if (format == KvFormat::tbq4_0) return for_each_pair<4, kThreads>(kLevels4.of, visit);
    if (copied_pairs(format) > 0) return for_each_pair<4, kThreads>(kPolarLevels.of, visit);
  }
  // Calls visit(key, levels as a pair) for two codes of n_bits each, by eight lanes for a key.
  template <int n_bits, int kThreads, class Visit>
  __device__ static void for_each_pair(const float* levels, const Visit& visit) {
    constexpr int n_levels = 1 << n_bits, kAtOnce = kThreads / 8;
    static_assert(kAtOnce % n_levels == 0, "the first of a lane's pairs is the same");
    const float level = levels[threadIdx.x % n_levels];
    const int own = threadIdx.x / 8;
    const float first = __shfl_sync(0xffffffff, level, own % n_levels);
#pragma unroll
    for (int key = 0; key < n_levels * n_levels; key += kAtOnce) {
      const float second = __shfl_sync(0xffffffff, level, (own + key) / n_levels);
      visit(own + key, pair_of_floats(first, second));
    }
  }
};

// ---- Bits of a row ----

// Whether all rows begin at multiples of four bytes.
template <KvFormat format>
constexpr bool kHasWholeWords =
    format != KvFormat::q4_polar&& format != KvFormat::q4_polar_residual&& format != KvFormat::qjl1_256;

// Where what a lane has of a row lies, in bytes from the row's start. That this is known before a row is,
// saves work.
struct RowPart {
  uint32_t at;         // its codes: the word that they begin in, where rows begin with words
  uint32_t step;       // its step
  uint32_t how = 0;    // bits of that word before them; of a block, which bytes its step takes, twice
  uint32_t signs = 0;  // of a table, its first one

  template <KvFormat format>
  __device__ static RowPart of_words(uint32_t at, uint32_t step) {
    if constexpr (kHasWholeWords<format>) return {at & ~3u, step, at % 4 * 8};
    return {at, step};
  }
  // A block at an even address: a step, then codes.
  __device__ static RowPart of_block(uint32_t at) { return {at & ~3u, at, at % 4 == 0 ? 0x1010u : 0x3232u}; }
};

// kBytes of a row, from an even address on if they are even; what is behind them in `words` is anything. No
// word is read that they have no part of: the loop over keys waits for shared memory more than for anything
// else.
template <KvFormat format, int kBytes, int kWords>
__device__ inline void load_words(uint32_t (&words)[kWords], uint32_t row, const RowPart& part) {
  constexpr int kMostBefore = kBytes % 2 == 0 ? 2 : 3, kRaw = (kMostBefore + kBytes + 3) / 4;
  static_assert(kBytes > 4 * (kWords - 1) && kBytes <= 4 * kWords);
  const uint32_t at = row + part.at, shift = kHasWholeWords<format> ? part.how : at % 4 * 8;
  const uint32_t first = kHasWholeWords<format> ? at : at & ~3u;
  uint32_t raw[kWords + 1];
#pragma unroll
  for (int i = 0; i <= kWords; ++i) raw[i] = i < kRaw ? shared_word(first + 4 * i) : 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __funnelshift_r(raw[i], raw[i + 1], shift);
}

// A block: a step, then 4 * kWords bytes.
template <int kWords>
__device__ inline void load_block(uint32_t (&words)[kWords], uint32_t& step, uint32_t row,
                                  const RowPart& part) {
  uint32_t raw[kWords + 1];
#pragma unroll
  for (int i = 0; i <= kWords; ++i) raw[i] = shared_word(row + part.at + 4 * i);
  constexpr uint32_t kBehindStep = 0x5432 - 0x1010;  // bytes that follow those of the step
  step = __byte_perm(raw[0], 0, part.how);
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __byte_perm(raw[i], raw[i + 1], part.how + kBehindStep);
}

// ---- Halves of pairs ----

// The second halves of x's pairs and the first ones of y's change places, while they are codes: of n_bits,
// two after the other in all of the words.
template <int n_bits, int kWords>
__device__ inline void exchange_codes(uint32_t (&x)[kWords], uint32_t (&y)[kWords]) {
  uint32_t first[kWords], second[kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    uint32_t firsts = 0;  // bits of first codes
    for (int bit = 0; bit < 32; ++bit)
      firsts |= static_cast<uint32_t>((32 * i + bit) / n_bits % 2 == 0) << bit;
    const uint32_t x_down =
        i + 1 < kWords ? __funnelshift_r(x[i], x[i + 1 < kWords ? i + 1 : i], n_bits) : x[i] >> n_bits;
    const uint32_t y_up = i > 0 ? __funnelshift_l(y[i > 0 ? i - 1 : i], y[i], n_bits) : y[i] << n_bits;
    first[i] = selected(firsts, x[i], y_up);
    second[i] = selected(firsts, x_down, y[i]);
  }
#pragma unroll
  for (int i = 0; i < kWords; ++i) x[i] = first[i], y[i] = second[i];
}
// The same of bytes that __byte_perm() takes from a word of x and one of y.
template <uint32_t firsts, uint32_t seconds, int kWords>
__device__ inline void exchange_bytes(uint32_t (&x)[kWords], uint32_t (&y)[kWords]) {
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const uint32_t first = __byte_perm(x[i], y[i], firsts);
    y[i] = __byte_perm(x[i], y[i], seconds);
    x[i] = first;
  }
}

// ---- Formats ----

// kPairs pairs of a row, those of number `unit` on of as many units as there are lanes for a row. `own_copy`:
// see PairTables. Stored values are the pair times the low half of `step`, which is in the other half, too,
// where the pairs are those of a block (kIsBlock). Those of a place in a row are the stored elements
// place(unit, t, half). That is place(unit, 0, 0) + place(0, t, half), of which nothing is carried from one
// sixteen of elements to the next. Of 32 elements that are a unit, slot() is 2 * t + half of the one with
// that number.
template <KvFormat format, int kPairs>
struct Codes;

// How pairs of two rows, x and y, become those of their first elements and those of their second ones.
enum class TwoRows {
  by_codes,  // exchange_halves() of both rows' codes leaves the former in x, the latter in y
  by_ones,   // what pairs are put together of are looked up one by one
  by_pairs,  // halves of pairs change places
};

template <int kPairs>
struct Codes<KvFormat::tbq4_0, kPairs> {
  static constexpr bool kHasStep = true;
  static constexpr TwoRows kTwoRows = TwoRows::by_codes;
  static constexpr int kBlockElements = 32, kBlockBytes = sizeof(BlockTbq4_0);
  static constexpr bool kIsBlock = kBlockElements == 2 * kPairs;
  uint32_t words[kPairs / 4], step;

  __host__ __device__ static constexpr int place(int unit, int t, int half) {
    const int pair = unit * kPairs + t;
    return pair / 16 * 32 + pair % 16 + 16 * half;
  }
  __host__ __device__ static constexpr int slot(int element) { return element % 16 * 2 + element / 16; }
  __device__ static RowPart part(int unit) {
    const uint32_t block = unit * kPairs / 16 * kBlockBytes;
    if constexpr (kPairs == 16) return RowPart::of_block(block);
    return RowPart::of_words<KvFormat::tbq4_0>(block + 2 + unit * kPairs % 16, block);
  }
  __device__ void load(uint32_t row, const RowPart& part) {
    if constexpr (kPairs == 16) {
      load_block(words, step, row, part);
    } else {
      step = shared_half(row + part.step);
      load_words<KvFormat::tbq4_0, kPairs>(words, row, part);
    }
  }
  __device__ static void exchange_halves(Codes& x, Codes& y) { exchange_codes<4>(x.words, y.words); }
  template <class Tables>
  __device__ uint32_t pair(int t, const Tables& tables, uint32_t own_copy) const {
    return tables.of_byte(words, t, own_copy);
  }
};

template <int kPairs>
struct Codes<KvFormat::q4_0, kPairs> {
  static constexpr bool kHasStep = true;
  static constexpr TwoRows kTwoRows = TwoRows::by_codes;
  static constexpr int kBlockElements = 32, kBlockBytes = sizeof(BlockQ4_0);
  static constexpr bool kIsBlock = kBlockElements == 2 * kPairs;
  uint32_t words[kPairs / 4], step;

  // Nibbles two bytes apart: of four bytes, the low ones of bytes 0, 2, their high ones, those of 1, 3.
  __host__ __device__ static constexpr int place(int unit, int t, int half) {
    const int byte = unit * kPairs % 16 + t / 4 * 4 + t % 4 / 2 + 2 * half;
    return unit * kPairs / 16 * 32 + byte + 16 * (t % 2);
  }
  __host__ __device__ static constexpr int slot(int element) {
    const int byte = element % 16, t = byte / 4 * 4 + byte % 2 * 2 + element / 16;
    return 2 * t + byte % 4 / 2;
  }
  __device__ static RowPart part(int unit) {
    const uint32_t block = unit * kPairs / 16 * kBlockBytes;
    if constexpr (kPairs == 16) return RowPart::of_block(block);
    return RowPart::of_words<KvFormat::q4_0>(block + 2 + unit * kPairs % 16, block);
  }
  __device__ void load(uint32_t row, const RowPart& part) {
    if constexpr (kPairs == 16) {
      load_block(words, step, row, part);
    } else {
      step = shared_half(row + part.step);
      load_words<KvFormat::q4_0, kPairs>(words, row, part);
    }
  }
  __device__ static void exchange_halves(Codes& x, Codes& y) {
    exchange_bytes<0x5410, 0x7632>(x.words, y.words);
  }
  // 1024 + n is a 16-bit float whose low bits are n.
  template <class Tables>
  __device__ uint32_t pair(int t, const Tables&, uint32_t) const {
    const uint32_t word = t % 4 / 2 == 0 ? words[t / 4] : words[t / 4] >> 8;
    constexpr uint32_t k1024 = 0x64006400;
    if (t % 2 == 0)
      return bits_of(__hsub2(as_half2(masked_or(word, 0x000f000f, k1024)), __float2half2_rn(1024 + 8)));
    return bits_of(__hfma2(as_half2(masked_or(word, 0x00f000f0, k1024)), __float2half2_rn(1.0f / 16),
                           __float2half2_rn(-64 - 8)));
  }
};

template <int kPairs>
struct Codes<KvFormat::q8_0, kPairs> {
  static constexpr bool kHasStep = true;
  static constexpr TwoRows kTwoRows = TwoRows::by_codes;
  static constexpr int kBlockElements = 32, kBlockBytes = kQ8Bytes;
  static constexpr bool kIsBlock = kBlockElements == 2 * kPairs;
  uint32_t words[kPairs / 2], step;

  __host__ __device__ static constexpr int place(int unit, int t, int half) {
    return 2 * (unit * kPairs + t) + half;
  }
  __host__ __device__ static constexpr int slot(int element) { return element; }
  __device__ static RowPart part(int unit) {
    const uint32_t block = unit * kPairs / 16 * kBlockBytes;
    if constexpr (kPairs == 16) return RowPart::of_block(block);
    return RowPart::of_words<KvFormat::q8_0>(block + 2 + unit * kPairs % 16 * 2, block);
  }
  __device__ void load(uint32_t row, const RowPart& part) {
    if constexpr (kPairs == 16) {
      load_block(words, step, row, part);
    } else {
      step = shared_half(row + part.step);
      load_words<KvFormat::q8_0, 2 * kPairs>(words, row, part);
    }
#pragma unroll
    for (uint32_t& word : words) word ^= 0x80808080;
  }
  __device__ static void exchange_halves(Codes& x, Codes& y) {
    exchange_bytes<0x6240, 0x7351>(x.words, y.words);
  }
  template <class Tables>
  __device__ uint32_t pair(int t, const Tables&, uint32_t) const {
    const uint32_t two = __byte_perm(words[t / 2], 0x64, t % 2 == 0 ? 0x4140 : 0x4342);
    return bits_of(__hsub2(as_half2(two), __float2half2_rn(1024 + 128)));
  }
};

template <int kPairs>
struct Codes<KvFormat::tbq3_0, kPairs> {
  static constexpr bool kHasStep = true;
  static constexpr TwoRows kTwoRows = TwoRows::by_codes;
  static constexpr int kBlockElements = 32, kBlockBytes = sizeof(BlockTbq3_0);
  static constexpr bool kIsBlock = kBlockElements == 2 * kPairs;
  static constexpr int kWords = (6 * kPairs + 31) / 32;
  uint32_t words[kWords], step;

  __host__ __device__ static constexpr int place(int unit, int t, int half) {
    return 2 * (unit * kPairs + t) + half;
  }
  __host__ __device__ static constexpr int slot(int element) { return element; }
  __device__ static RowPart part(int unit) {
    const uint32_t block = unit * kPairs / 16 * kBlockBytes;
    if constexpr (kPairs == 16) return RowPart::of_block(block);
    return RowPart::of_words<KvFormat::tbq3_0>(block + 2 + unit * kPairs % 16 * 6 / 8, block);
  }
  __device__ void load(uint32_t row, const RowPart& part) {
    if constexpr (kPairs == 16) {
      load_block(words, step, row, part);
    } else {
      step = shared_half(row + part.step);
      load_words<KvFormat::tbq3_0, 6 * kPairs / 8>(words, row, part);
    }
  }
  __device__ static void exchange_halves(Codes& x, Codes& y) { exchange_codes<3>(x.words, y.words); }
  template <class Tables>
  __device__ uint32_t pair(int t, const Tables& tables, uint32_t own_copy) const {
    return tables.of_six_bits(words, 6 * t, own_copy);
  }
};

template <int kPairs>
struct Codes<KvFormat::tbq3_tcq, kPairs> {
  static constexpr bool kHasStep = true;
  static constexpr TwoRows kTwoRows = TwoRows::by_ones;
  static constexpr int kBlockElements = 128, kBlockBytes = sizeof(BlockTbq3Tcq);
  static constexpr bool kIsBlock = kBlockElements == 2 * kPairs;
  static constexpr int kWords = (6 * kPairs + 6 + 31) / 32;
  uint32_t words[kWords], step;

  __host__ __device__ static constexpr int place(int unit, int t, int half) {
    return 2 * (unit * kPairs + t) + half;
  }
  __host__ __device__ static constexpr int slot(int element) { return element; }
  __device__ static RowPart part(int unit) {
    return RowPart::of_words<KvFormat::tbq3_tcq>(2 + unit * kPairs * 6 / 8, 0);
  }
  __device__ void load(uint32_t row, const RowPart& part) {
    step = shared_half(row + part.step);
    load_words<KvFormat::tbq3_tcq, (6 * kPairs + 6 + 7) / 8>(words, row, part);
  }
  template <class Tables>
  __device__ uint32_t pair(int t, const Tables& tables, uint32_t own_copy) const {
    return pair_of(one(2 * t, tables, own_copy), one(2 * t + 1, tables, own_copy));
  }
  // Half of a pair, twice.
  template <class Tables>
  __device__ uint32_t one(int i, const Tables& tables, uint32_t own_copy) const {
    return tables.of_state(words, 3 * i, own_copy);
  }
};

template <int kPairs>
struct Codes<KvFormat::q4_polar, kPairs> {
  static constexpr bool kHasStep = true;
  static constexpr TwoRows kTwoRows = TwoRows::by_codes;
  static constexpr int kBlockElements = 128, kBlockBytes = sizeof(BlockQ4Polar);
  static constexpr bool kIsBlock = kBlockElements == 2 * kPairs;
  uint32_t words[kPairs / 4], step;

  __host__ __device__ static constexpr int place(int unit, int t, int half) {
    return 2 * (unit * kPairs + t) + half;
  }
  __host__ __device__ static constexpr int slot(int element) { return element; }
  __device__ static RowPart part(int unit) {
    return RowPart::of_words<KvFormat::q4_polar>(2 + unit * kPairs, 0);
  }
  __device__ void load(uint32_t row, const RowPart& part) {
    step = shared_half(row + part.step);
    load_words<KvFormat::q4_polar, kPairs>(words, row, part);
  }
  __device__ static void exchange_halves(Codes& x, Codes& y) { exchange_codes<4>(x.words, y.words); }
  template <class Tables>
  __device__ uint32_t pair(int t, const Tables& tables, uint32_t own_copy) const {
    return tables.of_byte(words, t, own_copy);
  }
};

template <int kPairs>
struct Codes<KvFormat::q4_polar_residual, kPairs> : Codes<KvFormat::q4_polar, kPairs> {
  using Base = Codes<KvFormat::q4_polar, kPairs>;
  static constexpr TwoRows kTwoRows = TwoRows::by_pairs;  // which have signs
  uint32_t flip;                                          // of signs
  uint32_t own_signs;                                     // of the unit, from the first pair on

  __device__ static RowPart part(int unit) {
    RowPart part = Base::part(unit);
    part.signs = 4 * unit * kPairs;
    return part;
  }
  __device__ void load(uint32_t row, const RowPart& part) {
    Base::load(row, part);
    flip = shared_half(row + part.step + 66) & 1 ? 0 : 0x80008000;
    own_signs = part.signs;
  }
  template <class Tables>
  __device__ uint32_t pair(int t, const Tables& tables, uint32_t own_copy) const {
    const uint32_t more = shared_word(tables.signs + own_signs + 4 * t) ^ flip;
    return bits_of(__hadd2(as_half2(Base::pair(t, tables, own_copy)), as_half2(more)));
  }
};

template <int kPairs>
struct Codes<KvFormat::f16, kPairs> {
  static constexpr bool kHasStep = false;
  static constexpr TwoRows kTwoRows = TwoRows::by_codes;
  static constexpr int kBlockElements = 1, kBlockBytes = 2;
  static constexpr bool kIsBlock = kBlockElements == 2 * kPairs;
  uint32_t words[kPairs], step;

  __host__ __device__ static constexpr int place(int unit, int t, int half) {
    return 2 * (unit * kPairs + t) + half;
  }
  __host__ __device__ static constexpr int slot(int element) { return element; }
  __device__ static RowPart part(int unit) { return {static_cast<uint32_t>(4 * unit * kPairs), 0}; }
  __device__ void load(uint32_t row, const RowPart& part) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) words[i] = shared_word(row + part.at + 4 * i);
  }
  __device__ static void exchange_halves(Codes& x, Codes& y) {
    exchange_bytes<0x5410, 0x7632>(x.words, y.words);
  }
  template <class Tables>
  __device__ uint32_t pair(int t, const Tables&, uint32_t) const {
    return words[t];
  }
};

// Signs of 256 projections: 64 of them, which meet planes of bits of the queries. Their norm is for scores to
// be multiplied with.
template <int kPairs>
struct Codes<KvFormat::qjl1_256, kPairs> {
  static constexpr int kBlockElements = 256, kBlockBytes = sizeof(BlockQjl1_256);
  static constexpr bool kIsBlock = kBlockElements == 2 * kPairs;
  uint32_t words[2];

  __device__ static RowPart part(int unit) { return RowPart::of_words<KvFormat::qjl1_256>(8 * unit, 32); }
  __device__ void load(uint32_t row, const RowPart& part) {
    load_words<KvFormat::qjl1_256, 8>(words, row, part);
  }
  __device__ static float norm(uint32_t row, const RowPart& part) {
    return __uint_as_float(shared_half(row + part.step) << 16);
  }
};

// Bytes of a row that stands for a head vector of so many.
template <KvFormat format, int kHeadDim>
constexpr int kCodesBytes = kHeadDim*(format == KvFormat::qjl1_256 ? 2 : 1) /
                            Codes<format, 16>::kBlockElements* Codes<format, 16>::kBlockBytes;

// Calls visit(std::integral_constant<KvFormat, format>()) for a format of values in heads of so many.
template <int kHeadDim, class Visit>
__device__ inline void with_codes(KvFormat format, const Visit& visit) {
  switch (format) {
    case KvFormat::f16:
      return visit(std::integral_constant<KvFormat, KvFormat::f16>());
    case KvFormat::q8_0:
      return visit(std::integral_constant<KvFormat, KvFormat::q8_0>());
    case KvFormat::q4_0:
      return visit(std::integral_constant<KvFormat, KvFormat::q4_0>());
    case KvFormat::tbq4_0:
      return visit(std::integral_constant<KvFormat, KvFormat::tbq4_0>());
    case KvFormat::tbq3_0:
      return visit(std::integral_constant<KvFormat, KvFormat::tbq3_0>());
    default:
      break;
  }
  if constexpr (kHeadDim == 128) {
    switch (format) {
      case KvFormat::tbq3_tcq:
        return visit(std::integral_constant<KvFormat, KvFormat::tbq3_tcq>());
      case KvFormat::q4_polar:
        return visit(std::integral_constant<KvFormat, KvFormat::q4_polar>());
      case KvFormat::q4_polar_residual:
        return visit(std::integral_constant<KvFormat, KvFormat::q4_polar_residual>());
      default:
        break;
    }
  }
}

// The same for a format of keys.
template <int kHeadDim, class Visit>
__device__ inline void with_key_codes(KvFormat format, const Visit& visit) {
  if constexpr (kHeadDim == 128) {
    if (format == KvFormat::qjl1_256) return visit(std::integral_constant<KvFormat, KvFormat::qjl1_256>());
  }
  with_codes<kHeadDim>(format, visit);
}

// Whether rows lie so that they can be copied and become pairs. `head_dim_k` is of what is stored.
inline bool has_codes(const KvView& kv) {
  const bool is_sketch = kv.k.format == KvFormat::qjl1_256;
  const bool has_sizes = is_sketch ? kv.head_dim_k == 256 && kv.head_dim_v == 128
                                   : kv.head_dim_k == kv.head_dim_v && unpacks(kv.k.format);
  return has_sizes && (kv.head_dim_v == 64 || kv.head_dim_v == 128) && unpacks(kv.v.format) &&
         kv.page_tokens % kRunRows == 0 && kv.layer_bytes < size_t{1} << 36 &&
         kv.page_bytes % kPieceBytes == 0 && kv.v_offset(0) % kPieceBytes == 0 &&
         reinterpret_cast<uintptr_t>(kv.pages) % kPieceBytes == 0;
}

}  // namespace parlance::cuda::attention
