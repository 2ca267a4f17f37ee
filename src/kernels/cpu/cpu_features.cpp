// Which instruction sets the processor has and the operating system preserves.
#include "base/os/machine.h"
#include "kernels/cpu/cpu_device.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace parlance {

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::scalar:
      return "scalar";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_bf16:
      return "avx512_bf16";
    case Isa::avx512_amx:
      return "avx512_amx";
    case Isa::neon:
      return "neon";
    case Isa::neon_dotprod:
      return "neon_dotprod";
    case Isa::neon_i8mm:
      return "neon_i8mm";
  }
  return "";
}

#if defined(__x86_64__)

namespace {

constexpr bool has_bits(uint32_t value, uint32_t bits) {
  return (value & bits) == bits;
}

// Register state that the operating system saves for every thread.
uint32_t saved_state() {
  uint32_t low, high;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

// Eight tiles of sixteen rows of 64 bytes, which kernels are made for.
bool has_usual_tiles() {
  constexpr uint32_t kRowBytes = 64, kTiles = 8, kRows = 16;
  uint32_t a, b, c, d;  // of palette 1: bytes of a row and number of tiles in b, rows in c
  return __get_cpuid_count(0x1d, 1, &a, &b, &c, &d) && (b & 0xffff) == kRowBytes && b >> 16 == kTiles &&
         (c & 0xffff) == kRows;
}

std::vector<Isa> find_isas() {
  constexpr uint32_t kYmmState = 0x6, kZmmState = 0xe6, kTileState = 0x60000;
  std::vector<Isa> isas{Isa::scalar};

  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has_bits(c, bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C))
    return isas;
  const uint32_t state = saved_state();
  if (!has_bits(state, kYmmState)) return isas;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has_bits(b, bit_AVX2 | bit_BMI2)) return isas;
  isas.push_back(Isa::avx2);

  constexpr uint32_t kAvx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
  if (!has_bits(state, kZmmState) || !has_bits(b, kAvx512) || !has_bits(c, bit_AVX512VNNI)) return isas;
  isas.push_back(Isa::avx512);

  const uint32_t tiles = d;
  constexpr uint32_t kAvx512Bf16 = 1u << 5;  // leaf 7, sub-leaf 1, eax
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !has_bits(a, kAvx512Bf16)) return isas;
  isas.push_back(Isa::avx512_bf16);

  constexpr uint32_t kAmx = 1u << 22 | 1u << 24 | 1u << 25;  // leaf 7, edx: bf16, tiles, int8
  if (!has_bits(state, kTileState) || !has_bits(tiles, kAmx) || !has_usual_tiles()) return isas;
  if (allow_tile_registers()) isas.push_back(Isa::avx512_amx);
  return isas;
}

}  // namespace

// Virtual machines answer each cpuid themselves, which takes microseconds.
std::vector<Isa> available_isas() {
  static const std::vector<Isa> isas = find_isas();
  return isas;
}

#elif defined(__aarch64__)

std::vector<Isa> available_isas() {
  std::vector<Isa> isas{Isa::scalar, Isa::neon};
#if defined(__linux__)
  if (!(getauxval(AT_HWCAP) & HWCAP_ASIMDDP)) return isas;
  isas.push_back(Isa::neon_dotprod);
  if (getauxval(AT_HWCAP2) & HWCAP2_I8MM) isas.push_back(Isa::neon_i8mm);
#elif defined(__ARM_FEATURE_DOTPROD)
  isas.push_back(Isa::neon_dotprod);
#endif
  return isas;
}

#else

std::vector<Isa> available_isas() {
  return {Isa::scalar};
}

#endif

}  // namespace parlance
