// Takes what a loudspeaker plays out of what a microphone beside it hears. The arithmetic is a library's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace parlance {

inline constexpr int kEchoRateHz = 16000;
inline constexpr size_t kEchoFrame = kEchoRateHz / 100;  // samples that are worked on at once: 10 ms

enum class EchoLibrary { webrtc, speex };

std::string_view name_of(EchoLibrary library);
// Those that this program was built with, the best first.
std::span<const EchoLibrary> echo_libraries();

class EchoCanceller {
 public:
  virtual ~EchoCanceller() = default;

  // kEchoFrame samples each: what was heard, what was played up to 100 ms before it can be heard there, and
  // what is left of the first.
  virtual void process(std::span<const float> heard, std::span<const float> played,
                       std::span<float> left) = 0;
};

// Of one of echo_libraries().
std::unique_ptr<EchoCanceller> make_echo_canceller(EchoLibrary library);

}  // namespace parlance
