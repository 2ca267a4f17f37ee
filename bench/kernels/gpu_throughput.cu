// What a CUDA GPU's multiprocessors do in a clock, instruction by instruction, and how fast its memory is
// read: the numbers that kernels are designed by. One JSON object a line; `per_clock` counts lanes of a
// multiprocessor, for matrix instructions multiply-adds.
//
//   gpu_throughput
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kThreads = 1024;  // of a multiprocessor: one block
constexpr int kChains = 8;      // of instructions that do not wait for each other
constexpr int kRounds = 512;

void check(cudaError_t code, const char* doing) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "gpu_throughput: %s: %s\n", doing, cudaGetErrorString(code));
  std::exit(1);
}

// An instruction on one register: the i-th of so many chains.
#define PARLANCE_INSTRUCTION(name, text)                                               \
  struct name {                                                                        \
    static constexpr double kOperations = 1;                                           \
    __device__ static void run(uint32_t (&r)[kChains], uint32_t x, uint32_t address) { \
      _Pragma("unroll") for (int i = 0; i < kChains; ++i) {                            \
        asm volatile(text : "+r"(r[i]) : "r"(x), "r"(address));                        \
      }                                                                                \
    }                                                                                  \
  }

PARLANCE_INSTRUCTION(Ffma,
                     "{.reg .f32 a, b; mov.b32 a, %0; mov.b32 b, %1; fma.rn.f32 a, a, b, b; mov.b32 %0, a;}");
PARLANCE_INSTRUCTION(Hfma2, "fma.rn.f16x2 %0, %0, %1, %1;");
PARLANCE_INSTRUCTION(Imad, "mad.lo.s32 %0, %0, %1, %1;");
PARLANCE_INSTRUCTION(Lop3, "lop3.b32 %0, %0, %1, %2, 0x96;");
PARLANCE_INSTRUCTION(Prmt, "prmt.b32 %0, %0, %1, 0x5416;");
PARLANCE_INSTRUCTION(Shf, "shf.r.wrap.b32 %0, %0, %1, 7;");
PARLANCE_INSTRUCTION(Dp4a, "dp4a.s32.s32 %0, %1, %2, %0;");
PARLANCE_INSTRUCTION(Popc, "popc.b32 %0, %0;");
PARLANCE_INSTRUCTION(Ex2, "{.reg .f32 a; mov.b32 a, %0; ex2.approx.f32 a, a; mov.b32 %0, a;}");
PARLANCE_INSTRUCTION(CvtF32, "{.reg .f32 a; cvt.rn.f32.s32 a, %0; mov.b32 %0, a;}");
PARLANCE_INSTRUCTION(Shfl, "shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;");
PARLANCE_INSTRUCTION(Lds32, "ld.volatile.shared.u32 %0, [%0];");  // of a word that is its own address
PARLANCE_INSTRUCTION(LdsU16, "{.reg .u16 a; ld.volatile.shared.u16 a, [%2]; cvt.u32.u16 %0, a;}");
PARLANCE_INSTRUCTION(Movmatrix, "movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;");

// Chains of whole matrices: each takes four registers, and is gone through twice.
#define PARLANCE_MATRICES(name, text, operations)                                                      \
  struct name {                                                                                        \
    static constexpr double kOperations = (operations) / 32.0 / 2; /* of a lane, of half the chains */ \
    __device__ static void run(uint32_t (&r)[kChains], uint32_t x, uint32_t address) {                 \
      _Pragma("unroll") for (int i = 0; i < kChains; i += 4) {                                         \
        asm volatile(text                                                                              \
                     : "+r"(r[i]), "+r"(r[i + 1]), "+r"(r[i + 2]), "+r"(r[i + 3])                      \
                     : "r"(x), "r"(address));                                                          \
        asm volatile(text                                                                              \
                     : "+r"(r[i]), "+r"(r[i + 1]), "+r"(r[i + 2]), "+r"(r[i + 3])                      \
                     : "r"(address), "r"(x));                                                          \
      }                                                                                                \
    }                                                                                                  \
  }

PARLANCE_MATRICES(MmaF16,
                  "{.reg .f32 a, b, c, d; mov.b32 a, %0; mov.b32 b, %1; mov.b32 c, %2; mov.b32 d, %3;"
                  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {a, b, c, d}, {%4, %5, %4, %5}, {%4, "
                  "%5}, {a, b, c, d};"
                  "mov.b32 %0, a; mov.b32 %1, b; mov.b32 %2, c; mov.b32 %3, d;}",
                  16 * 8 * 16);
PARLANCE_MATRICES(
    MmaS8,
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %4, %5}, {%4, %5}, "
    "{%0, %1, %2, %3};",
    16 * 8 * 32);
PARLANCE_MATRICES(
    MmaB1,
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %4, %5}, "
    "{%4, %5}, {%0, %1, %2, %3};",
    16 * 8 * 256);

template <class Instruction>
__global__ void __launch_bounds__(kThreads) repeat(uint32_t x, uint32_t* out, long long* clocks) {
  __shared__ uint32_t words[kThreads];
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(&words[threadIdx.x]));
  words[threadIdx.x] = address;
  uint32_t r[kChains];
  for (int i = 0; i < kChains; ++i) r[i] = address;
  __syncthreads();
  const long long start = clock64();
  for (int round = 0; round < kRounds; ++round) Instruction::run(r, x, address);
  __syncthreads();
  const long long end = clock64();
  uint32_t sum = 0;
  for (int i = 0; i < kChains; ++i) sum += r[i];
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
  if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;
}

struct Gpu {
  int n_multiprocessors;
  uint32_t* out;
  long long* clocks;
};

template <class Instruction>
void measure(const Gpu& gpu, const char* name) {
  double least = 1e30;
  for (int attempt = 0; attempt < 3; ++attempt) {
    repeat<Instruction><<<gpu.n_multiprocessors, kThreads>>>(3, gpu.out, gpu.clocks);
    check(cudaDeviceSynchronize(), name);
    std::vector<long long> clocks(gpu.n_multiprocessors);
    check(cudaMemcpy(clocks.data(), gpu.clocks, clocks.size() * sizeof clocks[0], cudaMemcpyDeviceToHost),
          name);
    std::nth_element(clocks.begin(), clocks.begin() + clocks.size() / 2, clocks.end());
    least = std::min(least, static_cast<double>(clocks[clocks.size() / 2]));
  }
  const double operations = Instruction::kOperations * kChains * kRounds * kThreads;
  std::printf("{\"instruction\": \"%s\", \"per_clock\": %.1f}\n", name, operations / least);
  std::fflush(stdout);
}

__global__ void read_words(const uint4* words, size_t n, uint32_t* out) {
  constexpr int kAtOnce = 8;
  uint32_t sum = 0;
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  for (; i + (kAtOnce - 1) * stride < n; i += kAtOnce * stride) {
    uint4 loaded[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) loaded[j] = __ldcs(words + i + j * stride);
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) sum += loaded[j].x ^ loaded[j].y ^ loaded[j].z ^ loaded[j].w;
  }
  if (sum == 0x12345678) out[0] = sum;
}

template <class Work>
double median_seconds(const Work& work) {
  cudaEvent_t start, end;
  check(cudaEventCreate(&start), "an event");
  check(cudaEventCreate(&end), "an event");
  std::vector<float> times;
  for (int i = 0; i < 11; ++i) {
    check(cudaEventRecord(start), "an event");
    work();
    check(cudaEventRecord(end), "an event");
    check(cudaEventSynchronize(end), "reading memory");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start, end), "an event");
    if (i > 0) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1e-3;
}

void measure_memory(const Gpu& gpu) {
  constexpr size_t kBytes = size_t{4} << 30;
  std::byte* memory = nullptr;
  check(cudaMalloc(&memory, kBytes), "memory");
  check(cudaMemset(memory, 0x35, kBytes), "memory");
  const auto print = [](const char* what, double bytes, double seconds) {
    std::printf("{\"memory\": \"%s\", \"bytes_per_second\": %.4g}\n", what, bytes / seconds);
  };
  print("read", kBytes, median_seconds([&] {
          read_words<<<gpu.n_multiprocessors * 8, 256>>>(reinterpret_cast<const uint4*>(memory),
                                                         kBytes / sizeof(uint4), gpu.out);
        }));
  print("copied, read and written", kBytes, median_seconds([&] {
          check(cudaMemcpyAsync(memory + kBytes / 2, memory, kBytes / 2, cudaMemcpyDeviceToDevice), "a copy");
        }));
  check(cudaFree(memory), "memory");
}

}  // namespace

int main() {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0), "the GPU");
  Gpu gpu{properties.multiProcessorCount, nullptr, nullptr};
  check(cudaMalloc(&gpu.out, sizeof(uint32_t) * kThreads * gpu.n_multiprocessors), "memory");
  check(cudaMalloc(&gpu.clocks, sizeof(long long) * gpu.n_multiprocessors), "memory");
  std::printf("{\"gpu\": \"%s\", \"multiprocessors\": %d}\n", properties.name, gpu.n_multiprocessors);
  measure<Ffma>(gpu, "fma f32");
  measure<Hfma2>(gpu, "fma f16x2");
  measure<Imad>(gpu, "mad s32");
  measure<Lop3>(gpu, "lop3");
  measure<Prmt>(gpu, "prmt");
  measure<Shf>(gpu, "shf");
  measure<Dp4a>(gpu, "dp4a");
  measure<Popc>(gpu, "popc");
  measure<Ex2>(gpu, "ex2 f32");
  measure<CvtF32>(gpu, "cvt f32 of s32");
  measure<Shfl>(gpu, "shfl");
  measure<Lds32>(gpu, "ld.shared 32 bits");
  measure<LdsU16>(gpu, "ld.shared 16 bits");
  measure<Movmatrix>(gpu, "movmatrix");
  measure<MmaF16>(gpu, "mma m16n8k16 f16");
  measure<MmaS8>(gpu, "mma m16n8k32 s8");
  measure<MmaB1>(gpu, "mma m16n8k256 b1");
  measure_memory(gpu);
  return 0;
}
