// A few words to the GPU and back by kernels, which follow others sooner than copies do: those wait for
// another engine of the GPU. Both take whole words of 4 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace parlance {

class Stream;

namespace cuda {

// Host memory, which may go away after the call, to the GPU; up to so many bytes go along with the launch.
inline constexpr size_t kMostWordBytes = 4032;
void store_words(Stream& s, std::byte* dst, std::span<const std::byte> bytes);

// Where words come back: page-locked memory of the host. `number` is that of the last launch whose words are
// there.
struct Landing {
  uint32_t* number = nullptr;
  std::byte* words = nullptr;
};
void bring_words(Stream& s, const Landing& landing, uint32_t number, std::span<const std::byte> first,
                 std::span<const std::byte> second);

}  // namespace cuda
}  // namespace parlance
