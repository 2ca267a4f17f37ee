// How the bytes of every weight type become numbers, for all kernels that read weights. Block types are seen
// in runs of 32 values: signed byte codes, a step for the run or for each half of it, and for some types a
// minimum. The layouts are those of src/quant/<type>.h; blocks lie at even addresses, no more. The functions
// compile for the host too.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace parlance::cuda {

// Value i is step[i / 16] * (byte i of codes) + minimum[i / 16]. Types without kHalves fill element 0 only,
// types without kHasMinimum leave the minimums alone.
struct Run {
  uint32_t codes[8];
  float step[2];
  float minimum[2];
};

inline constexpr int kRunValues = 32;

// ---- Bytes at even addresses ----

__host__ __device__ inline uint32_t load_u16(const uint8_t* p) {
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const uint16_t*>(p);
#else
  uint16_t bits;
  std::memcpy(&bits, p, sizeof(bits));
  return bits;
#endif
}

__host__ __device__ inline float load_f16(const uint8_t* p) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(static_cast<uint16_t>(load_u16(p))));
#else
  return f32_from_f16(static_cast<f16_bits>(load_u16(p)));
#endif
}

// n words from aligned loads, of which none touches a word without bytes of ours.
template <int n>
__host__ __device__ inline void load_words(const uint8_t* p, uint32_t (&words)[n]) {
#ifdef __CUDA_ARCH__
  const unsigned odd = reinterpret_cast<uintptr_t>(p) & 2;
  const auto* aligned = reinterpret_cast<const uint32_t*>(p - odd);
  uint32_t low = aligned[0];
  for (int i = 0; i < n; ++i) {
    const uint32_t high = aligned[i + 1 < n || odd ? i + 1 : i];
    words[i] = __funnelshift_r(low, high, 8 * odd);
    low = high;
  }
#else
  std::memcpy(words, p, sizeof(words));
#endif
}

// Bytes at an even place behind an address that is a multiple of 4: where the place is known when compiled,
// so is what loads it.
struct BytesAt {
  const uint8_t* base;
  int at;

  __host__ __device__ BytesAt operator+(int n) const { return {base, at + n}; }
};

__host__ __device__ inline float load_f16(const BytesAt& p) {
  return load_f16(p.base + p.at);
}
__host__ __device__ inline uint32_t load_u16(const BytesAt& p) {
  return load_u16(p.base + p.at);
}

// Four bytes at a time, i of them further on.
__host__ __device__ inline const uint8_t* at_word(const uint8_t* p, int i) {
  return p + 4 * i;
}
__host__ __device__ inline BytesAt at_word(const BytesAt& p, int i) {
  return {p.base + 4 * i, p.at};
}

__host__ __device__ inline uint32_t load_word(const uint8_t* p) {
  uint32_t word[1];
  load_words(p, word);
  return word[0];
}
__host__ __device__ inline uint32_t load_word(const BytesAt& p) {
#ifdef __CUDA_ARCH__
  const auto* aligned = reinterpret_cast<const uint32_t*>(p.base + p.at / 4 * 4);
  return p.at % 4 == 0 ? aligned[0] : __funnelshift_r(aligned[0], aligned[1], 16);
#else
  return load_word(p.base + p.at);
#endif
}

// n words in registers, where the place is known when compiled: of bytes that began at a multiple of 4.
template <int n>
struct WordsAt {
  const uint32_t (&words)[n];
  int at;

  __host__ __device__ WordsAt operator+(int n_bytes) const { return {words, at + n_bytes}; }
  __host__ __device__ uint32_t operator[](int i) const {
    return (words[(at + i) / 4] >> ((at + i) % 4 * 8)) & 255;
  }
};

template <int n>
__host__ __device__ uint32_t load_u16(const WordsAt<n>& p) {
  return (p.words[p.at / 4] >> (p.at % 4 * 8)) & 0xffff;
}
template <int n>
__host__ __device__ float load_f16(const WordsAt<n>& p) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(static_cast<uint16_t>(load_u16(p))));
#else
  return f32_from_f16(static_cast<f16_bits>(load_u16(p)));
#endif
}
template <int n>
__host__ __device__ WordsAt<n> at_word(const WordsAt<n>& p, int i) {
  return p + 4 * i;
}
template <int n>
__host__ __device__ uint32_t load_word(const WordsAt<n>& p) {
  const uint32_t low = p.words[p.at / 4];
  return p.at % 4 == 0 ? low : low >> 16 | p.words[p.at / 4 + 1] << 16;
}

// ---- Four codes in a word ----

// Bytes below 128 made signed: each minus `offset`.
__host__ __device__ inline uint32_t less(uint32_t codes, uint32_t offset) {
  return (codes + (128 - offset) * 0x01010101u) ^ 0x80808080u;
}

// Bit i of the lowest four becomes bit 0 of byte i.
__host__ __device__ inline uint32_t spread_bits(uint32_t bits) {
  return ((bits & 15) * 0x00204081u) & 0x01010101u;
}

// Byte i of the result: the one of the eight bytes of b:a that the low three bits of nibble i of `choice`
// name.
__host__ __device__ inline uint32_t choose_bytes(uint32_t a, uint32_t b, uint32_t choice) {
#ifdef __CUDA_ARCH__
  return __byte_perm(a, b, choice);
#else
  const uint64_t both = static_cast<uint64_t>(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i)
    result |= static_cast<uint32_t>((both >> (8 * ((choice >> (4 * i)) & 7))) & 255) << (8 * i);
  return result;
#endif
}

// 16 bytes of nibbles where byte j holds values j (low) and j + 16 (high).
__host__ __device__ inline void load_nibbles(const uint8_t* q, uint32_t (&codes)[8]) {
  uint32_t words[4];
  load_words(q, words);
  for (int i = 0; i < 4; ++i) {
    codes[i] = words[i] & 0x0f0f0f0f;
    codes[i + 4] = (words[i] >> 4) & 0x0f0f0f0f;
  }
}

// Word i of them, which has values 4 * i.. and 16 + 4 * i..
template <class Bytes>
__host__ __device__ void load_nibble_word(const Bytes& q, uint32_t (&codes)[2]) {
  const uint32_t word = load_word(q);
  codes[0] = word & 0x0f0f0f0f;
  codes[1] = (word >> 4) & 0x0f0f0f0f;
}

// The same through the table of IQ4_NL: both halves of the table are looked up, bit 3 of the nibble chooses.
__host__ __device__ inline void look_up_iq4(uint32_t word, uint32_t& low, uint32_t& high) {
  // -127 -104 -83 -65, -49 -35 -22 -10, 1 13 25 38, 53 69 89 113 (kIq4Values of quant/iq4_nl.h)
  constexpr uint32_t kTable[4] = {0xbfad9881, 0xf6eaddcf, 0x26190d01, 0x71594535};
  uint32_t values[2];
  for (int half = 0; half < 2; ++half) {
    const uint32_t nibbles = word >> (16 * half);
    const uint32_t index = nibbles & 0x7777;
    values[half] =
        choose_bytes(choose_bytes(kTable[0], kTable[1], index), choose_bytes(kTable[2], kTable[3], index),
                     0x3210 | ((nibbles & 0x8888) >> 1));
  }
  low = choose_bytes(values[0], values[1], 0x6420);
  high = choose_bytes(values[0], values[1], 0x7531);
}

__host__ __device__ inline void load_iq4_nibbles(const uint8_t* q, uint32_t (&codes)[8]) {
  uint32_t words[4];
  load_words(q, words);
  for (int i = 0; i < 4; ++i) look_up_iq4(words[i], codes[i], codes[i + 4]);
}

template <class Bytes>
__host__ __device__ void load_iq4_word(const Bytes& q, uint32_t (&codes)[2]) {
  look_up_iq4(load_word(q), codes[0], codes[1]);
}

// Two words that are 16 bytes apart.
template <class Bytes>
__host__ __device__ void load_two_words(const Bytes& q, uint32_t (&words)[2]) {
  words[0] = load_word(q);
  words[1] = load_word(q + 16);
}

// Two words of the above in place: bytes as they are, and 16 times as large ones, which the sum of products
// undoes.
template <class Bytes>
__host__ __device__ void load_raw_nibbles(const Bytes& q, uint32_t& low, uint32_t& high_times_16) {
  const uint32_t word = load_word(q);
  low = word & 0x0f0f0f0f;
  high_times_16 = word & 0xf0f0f0f0;
}

// ---- One struct for each type ----

// unpack() takes run `run` of a block, below kBlockRuns. Its parts: unpack_scales() steps and minimums,
// unpack_words() words i and i + 4 of the codes, i below 4.

template <int bytes, int runs, bool halves, bool has_minimum>
struct BlockLayout {
  static constexpr int kBlockBytes = bytes;
  static constexpr int kBlockRuns = runs;
  static constexpr bool kHalves = halves;
  static constexpr bool kHasMinimum = has_minimum;
};

struct Q8_0 : BlockLayout<34, 1, false, false> {
  __host__ __device__ static void unpack(const uint8_t* block, int, Run& out) {
    load_words(block + 2, out.codes);
    unpack_scales(block, 0, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_scales(const Bytes& block, int, Run& out) {
    out.step[0] = load_f16(block);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_words(const Bytes& block, int, int i, uint32_t (&codes)[2]) {
    load_two_words(at_word(block + 2, i), codes);
  }
};

struct Q4_0 : BlockLayout<18, 1, false, false> {
  static constexpr int kOffset = 8;  // of nibbles from what they stand for
  __host__ __device__ static void unpack(const uint8_t* block, int, Run& out) {
    load_nibbles(block + 2, out.codes);
    for (uint32_t& codes : out.codes) codes = less(codes, 8);
    unpack_scales(block, 0, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_scales(const Bytes& block, int, Run& out) {
    out.step[0] = load_f16(block);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_words(const Bytes& block, int, int i, uint32_t (&codes)[2]) {
    unpack_offset_words(block, i, codes);
    for (uint32_t& word : codes) word = less(word, kOffset);
  }
  // Of codes that are too much by kOffset.
  template <class Bytes>
  __host__ __device__ static void unpack_offset_words(const Bytes& block, int i, uint32_t (&codes)[2]) {
    load_nibble_word(at_word(block + 2, i), codes);
  }
};

struct Q4_1 : BlockLayout<20, 1, false, true> {
  __host__ __device__ static void unpack(const uint8_t* block, int, Run& out) {
    load_nibbles(block + 4, out.codes);
    unpack_scales(block, 0, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_scales(const Bytes& block, int, Run& out) {
    out.step[0] = load_f16(block);
    out.minimum[0] = load_f16(block + 2);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_words(const Bytes& block, int, int i, uint32_t (&codes)[2]) {
    load_nibble_word(at_word(block + 4, i), codes);
  }
};

__host__ __device__ inline void add_fifth_bits(const uint8_t* bits, uint32_t (&codes)[8]) {
  uint32_t high[1];
  load_words(bits, high);
  for (int i = 0; i < 8; ++i) codes[i] |= spread_bits(high[0] >> (4 * i)) << 4;
}

template <class Bytes>
__host__ __device__ void add_fifth_bits(const Bytes& bits, int i, uint32_t (&codes)[2]) {
  const uint32_t high = load_word(bits);
  for (int j = 0; j < 2; ++j) codes[j] |= spread_bits(high >> (4 * i + 16 * j)) << 4;
}

struct Q5_0 : BlockLayout<22, 1, false, false> {
  __host__ __device__ static void unpack(const uint8_t* block, int, Run& out) {
    load_nibbles(block + 6, out.codes);
    add_fifth_bits(block + 2, out.codes);
    for (uint32_t& codes : out.codes) codes = less(codes, 16);
    unpack_scales(block, 0, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_scales(const Bytes& block, int, Run& out) {
    out.step[0] = load_f16(block);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_words(const Bytes& block, int, int i, uint32_t (&codes)[2]) {
    load_nibble_word(at_word(block + 6, i), codes);
    add_fifth_bits(block + 2, i, codes);
    for (uint32_t& word : codes) word = less(word, 16);
  }
};

struct Q5_1 : BlockLayout<24, 1, false, true> {
  __host__ __device__ static void unpack(const uint8_t* block, int, Run& out) {
    load_nibbles(block + 8, out.codes);
    add_fifth_bits(block + 4, out.codes);
    unpack_scales(block, 0, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_scales(const Bytes& block, int, Run& out) {
    out.step[0] = load_f16(block);
    out.minimum[0] = load_f16(block + 2);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_words(const Bytes& block, int, int i, uint32_t (&codes)[2]) {
    load_nibble_word(at_word(block + 8, i), codes);
    add_fifth_bits(block + 4, i, codes);
  }
};

struct Iq4Nl : BlockLayout<18, 1, false, false> {
  __host__ __device__ static void unpack(const uint8_t* block, int, Run& out) {
    load_iq4_nibbles(block + 2, out.codes);
    unpack_scales(block, 0, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_scales(const Bytes& block, int, Run& out) {
    out.step[0] = load_f16(block);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_words(const Bytes& block, int, int i, uint32_t (&codes)[2]) {
    load_iq4_word(at_word(block + 2, i), codes);
  }
};

struct Iq4Xs : BlockLayout<136, 8, false, false> {
  __host__ __device__ static void unpack(const uint8_t* block, int run, Run& out) {
    load_iq4_nibbles(block + 8 + 16 * run, out.codes);
    unpack_scales(block, run, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_words(const Bytes& block, int run, int i, uint32_t (&codes)[2]) {
    load_iq4_word(at_word(block + 8 + 16 * run, i), codes);
  }
  __host__ __device__ static void unpack_scales(const uint8_t* block, int run, Run& out) {
    const int low = (block[4 + run / 2] >> (4 * (run % 2))) & 15;
    const int high = (load_u16(block + 2) >> (2 * run)) & 3;
    out.step[0] = load_f16(block) * static_cast<float>((low | high << 4) - 32);
  }
};

// Step and minimum of a run of Q4_K and Q5_K, whose blocks begin alike: d, dmin, 12 bytes of scales
// (k_scales.h).
template <class Bytes>
__host__ __device__ void unpack_k_steps(const Bytes& block, int run, Run& out) {
  const Bytes scales = block + 4 + run % 4;
  const int a = scales[0], b = scales[4], c = scales[8];
  const int step = run < 4 ? a & 63 : (c & 15) | (a >> 6) << 4;
  const int minimum = run < 4 ? b & 63 : c >> 4 | (b >> 6) << 4;
  out.step[0] = load_f16(block) * static_cast<float>(step);
  out.minimum[0] = -(load_f16(block + 2) * static_cast<float>(minimum));
}

struct Q4K : BlockLayout<144, 8, false, true> {
  __host__ __device__ static void unpack(const uint8_t* block, int run, Run& out) {
    load_words(block + 16 + 32 * (run / 2), out.codes);
    for (uint32_t& codes : out.codes) codes = (codes >> (4 * (run % 2))) & 0x0f0f0f0f;
    unpack_k_steps(block, run, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_scales(const Bytes& block, int run, Run& out) {
    unpack_k_steps(block, run, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_words(const Bytes& block, int run, int i, uint32_t (&codes)[2]) {
    load_two_words(at_word(block + 16 + 32 * (run / 2), i), codes);
    for (uint32_t& word : codes) word = (word >> (4 * (run % 2))) & 0x0f0f0f0f;
  }
};

struct Q5K : BlockLayout<176, 8, false, true> {
  __host__ __device__ static void unpack(const uint8_t* block, int run, Run& out) {
    load_words(block + 48 + 32 * (run / 2), out.codes);
    uint32_t high[8];
    load_words(block + 16, high);
    for (int i = 0; i < 8; ++i) {
      out.codes[i] = ((out.codes[i] >> (4 * (run % 2))) & 0x0f0f0f0f) | ((high[i] >> run) & 0x01010101) << 4;
    }
    unpack_k_steps(block, run, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_scales(const Bytes& block, int run, Run& out) {
    unpack_k_steps(block, run, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_words(const Bytes& block, int run, int i, uint32_t (&codes)[2]) {
    load_two_words(at_word(block + 48 + 32 * (run / 2), i), codes);
    uint32_t high[2];
    load_two_words(at_word(block + 16, i), high);
    for (int j = 0; j < 2; ++j)
      codes[j] = ((codes[j] >> (4 * (run % 2))) & 0x0f0f0f0f) | ((high[j] >> run) & 0x01010101) << 4;
  }
};

struct Q2K : BlockLayout<84, 8, true, true> {
  __host__ __device__ static void unpack(const uint8_t* block, int run, Run& out) {
    load_words(block + 16 + 32 * (run / 4), out.codes);
    for (uint32_t& codes : out.codes) codes = (codes >> (2 * (run % 4))) & 0x03030303;
    unpack_scales(block, run, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_words(const Bytes& block, int run, int i, uint32_t (&codes)[2]) {
    load_two_words(at_word(block + 16 + 32 * (run / 4), i), codes);
    for (uint32_t& word : codes) word = (word >> (2 * (run % 4))) & 0x03030303;
  }
  __host__ __device__ static void unpack_scales(const uint8_t* block, int run, Run& out) {
    const float d = load_f16(block + 80), dmin = load_f16(block + 82);
    const uint32_t scales = load_u16(block + 2 * run);
    for (int half = 0; half < 2; ++half) {
      out.step[half] = d * static_cast<float>((scales >> (8 * half)) & 15);
      out.minimum[half] = -(dmin * static_cast<float>((scales >> (8 * half + 4)) & 15));
    }
  }
};

struct Q3K : BlockLayout<110, 8, true, false> {
  __host__ __device__ static void unpack(const uint8_t* block, int run, Run& out) {
    load_words(block + 32 + 32 * (run / 4), out.codes);
    uint32_t high[8];
    load_words(block, high);
    for (int i = 0; i < 8; ++i) {
      out.codes[i] =
          less(((out.codes[i] >> (2 * (run % 4))) & 0x03030303) | ((high[i] >> run) & 0x01010101) << 2, 4);
    }
    unpack_scales(block, run, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_words(const Bytes& block, int run, int i, uint32_t (&codes)[2]) {
    load_two_words(at_word(block + 32 + 32 * (run / 4), i), codes);
    uint32_t high[2];
    load_two_words(at_word(block, i), high);
    for (int j = 0; j < 2; ++j)
      codes[j] = less(((codes[j] >> (2 * (run % 4))) & 0x03030303) | ((high[j] >> run) & 0x01010101) << 2, 4);
  }
  __host__ __device__ static void unpack_scales(const uint8_t* block, int run, Run& out) {
    const float d = load_f16(block + 108);
    for (int half = 0; half < 2; ++half) {
      const int group = 2 * run + half;
      const int low = (block[96 + group % 8] >> (4 * (group / 8))) & 15;
      const int top = (block[104 + group % 4] >> (2 * (group / 4))) & 3;
      out.step[half] = d * static_cast<float>((low | top << 4) - 32);
    }
  }
};

struct Q6K : BlockLayout<210, 8, true, false> {
  __host__ __device__ static void unpack(const uint8_t* block, int run, Run& out) {
    const int h = run / 4, k = run % 4;
    load_words(block + 64 * h + 32 * (k % 2), out.codes);
    uint32_t high[8];
    load_words(block + 128 + 32 * h, high);
    for (int i = 0; i < 8; ++i) {
      out.codes[i] =
          less(((out.codes[i] >> (4 * (k / 2))) & 0x0f0f0f0f) | ((high[i] >> (2 * k)) & 0x03030303) << 4, 32);
    }
    unpack_scales(block, run, out);
  }
  template <class Bytes>
  __host__ __device__ static void unpack_words(const Bytes& block, int run, int i, uint32_t (&codes)[2]) {
    const int h = run / 4, k = run % 4;
    load_two_words(at_word(block + 64 * h + 32 * (k % 2), i), codes);
    uint32_t high[2];
    load_two_words(at_word(block + 128 + 32 * h, i), high);
    for (int j = 0; j < 2; ++j) {
      codes[j] =
          less(((codes[j] >> (4 * (k / 2))) & 0x0f0f0f0f) | ((high[j] >> (2 * k)) & 0x03030303) << 4, 32);
    }
  }
  __host__ __device__ static void unpack_scales(const uint8_t* block, int run, Run& out) {
    const float d = load_f16(block + 208);
    const uint32_t scales = load_u16(block + 192 + 2 * run);
    out.step[0] = d * static_cast<float>(static_cast<int8_t>(scales & 255));
    out.step[1] = d * static_cast<float>(static_cast<int8_t>(scales >> 8));
  }
};

// ---- Plain floats ----

struct F32 {
  static constexpr int kBytes = 4;
  __device__ static float load(const uint8_t* p) { return *reinterpret_cast<const float*>(p); }
};

struct F16 {
  static constexpr int kBytes = 2;
  __device__ static float load(const uint8_t* p) { return load_f16(p); }
};

struct Bf16 {
  static constexpr int kBytes = 2;
  __device__ static float load(const uint8_t* p) { return __uint_as_float(load_u16(p) << 16); }
};

}  // namespace parlance::cuda
