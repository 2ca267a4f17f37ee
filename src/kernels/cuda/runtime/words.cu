#include "kernels/cuda/runtime/words.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr size_t kMostThreads = 1024;

unsigned threads_for(size_t n_words) {
  return static_cast<unsigned>(std::min(kMostThreads, (n_words + 31) / 32 * 32));
}

// Arguments of launches are copied whole: few words are the usual case.
template <size_t kBytes>
struct Words {
  uint32_t words[kBytes / 4];
};
constexpr size_t kFewBytes = 252;

template <size_t kBytes>
__global__ void store(uint32_t* dst, uint32_t n, const __grid_constant__ Words<kBytes> from) {
  let_next_start();
  wait_for_previous();
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) dst[i] = from.words[i];
}

// One block.
__global__ void bring(uint32_t* dst, volatile uint32_t* landed, uint32_t number, const uint32_t* first,
                      const uint32_t* second, uint32_t n_first, uint32_t n) {
  let_next_start();
  wait_for_previous();
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
    dst[i] = i < n_first ? first[i] : second[i - n_first];
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *landed = number;
}

template <size_t kBytes>
void store_up_to(Stream& s, std::byte* dst, std::span<const std::byte> bytes) {
  Words<kBytes> from;
  std::memcpy(from.words, bytes.data(), bytes.size());
  const size_t n = bytes.size() / 4;
  launch(s, store<kBytes>, {.grid = dim3(1), .block = dim3(threads_for(n))}, reinterpret_cast<uint32_t*>(dst),
         static_cast<uint32_t>(n), from);
}

}  // namespace

void store_words(Stream& s, std::byte* dst, std::span<const std::byte> bytes) {
  bytes.size() <= kFewBytes ? store_up_to<kFewBytes>(s, dst, bytes)
                            : store_up_to<kMostWordBytes>(s, dst, bytes);
}

void bring_words(Stream& s, const Landing& landing, uint32_t number, std::span<const std::byte> first,
                 std::span<const std::byte> second) {
  const size_t n_first = first.size() / 4, n = n_first + second.size() / 4;
  const auto words = [](const std::byte* bytes) { return reinterpret_cast<const uint32_t*>(bytes); };
  launch(s, bring, {.grid = dim3(1), .block = dim3(threads_for(n))},
         reinterpret_cast<uint32_t*>(landing.words), landing.number, number, words(first.data()),
         words(second.data()), static_cast<uint32_t>(n_first), static_cast<uint32_t>(n));
}

}  // namespace parlance::cuda
