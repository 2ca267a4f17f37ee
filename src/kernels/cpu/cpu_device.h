// The CPU as a device: a thread pool, and one kernel table per instruction set, chosen once.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/device.h"

namespace parlance {

// Instruction sets that kernels exist for, each including the ones before it on its architecture.
enum class Isa {
  scalar,        // plain C++, the definition
  avx2,          // AVX2, FMA, F16C
  avx512,        // AVX-512 F, BW, DQ, VL, VNNI
  avx512_bf16,   // and BF16
  avx512_amx,    // and AMX's tiles of bytes and of bf16, which the system has to allow
  neon,          // AArch64 baseline
  neon_dotprod,  // and DotProd
  neon_i8mm,     // and I8MM
};

// For the operations that have one kernel for all sets with the same vectors.
constexpr bool is_avx512(Isa isa) {
  return isa >= Isa::avx512 && isa <= Isa::avx512_amx;
}
constexpr bool is_neon(Isa isa) {
  return isa >= Isa::neon;
}

std::string_view name_of(Isa isa);

// The sets that this processor can run, plainest first; the last one is the default.
std::vector<Isa> available_isas();

// The set called `wanted`; without one that of the environment variable PARLANCE_ISA, else the best
// available.
Result<Isa> choose_isa(std::string_view wanted = "");

struct CpuOptions {
  int n_threads = 0;  // 0: one for each processor that this process may use
  // One thread per processor, when there are as many processors as threads. On an idle machine that is a few
  // per cent faster; beside another busy program it is a third slower, since a thread cannot move to the free
  // processor.
  bool pin_threads = false;
  std::string_view isa = "";  // "": the best available; else a name of available_isas()
  // A row's results are the same bits whatever else is in a step and wherever a prompt was cut. Without it
  // the former is so if steps keep to Device::most_alike_rows(), and on AVX2 and NEON both are. On AVX-512
  // the latter costs more than a few per cent with f16 weights, and with attention over all caches but f32;
  // with AMX also with quantised weights.
  bool deterministic = false;
};

// The one device "cpu".
std::vector<DeviceInfo> list_cpu_devices();

Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options = {});

// The same processors and threads as a device for work of another rank: steps of all that share them run one
// at a time, or two of the same rank on half of the threads each, and those of a lower rank (0 is the lowest)
// go first, see right_of_way.h. Such devices may be
// used from several threads, and in any order of destruction. Null for a device that is no CPU, which has
// queues of its own.
std::unique_ptr<Device> share_cpu_device(const Device& device, int rank);

}  // namespace parlance
