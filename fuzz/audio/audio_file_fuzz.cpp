// Any bytes as a recording: read to their end or refused with one line, in memory in proportion to their
// number and to the sound that may be in them.
#include <cmath>
#include <cstdint>

#include "allocations.h"
#include "audio/audio_file.h"

namespace {

using namespace parlance;
using parlance::fuzz::require;

constexpr double kMaxSeconds = 2;
constexpr int kRateHz = 16000;

}  // namespace

// The library forgets a few kilobytes when the headers of Vorbis are cut.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:vorbis_info_init\n";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // FLAC alone may ask for blocks of 65535 samples of 8 channels, several times over.
  const fuzz::AllocationLimit limit((64 << 20) + 8 * size);
  const auto clip =
      read_audio(std::as_bytes(std::span(data, size)), "input", kRateHz, {.max_seconds = kMaxSeconds});
  if (!clip) {
    const std::string& message = clip.error().message;
    require(message.size() < 1000, "messages are short");
    for (const char c : message) require(c >= ' ' && c <= '~', "messages are one line of plain text");
    return 0;
  }
  require(static_cast<double>(clip->samples.size()) <= kMaxSeconds * kRateHz + 1,
          "the limit of seconds is kept");
  for (const float sample : clip->samples)
    require(std::fabs(sample) <= 1, "samples are numbers of at most 1");
  return 0;
}
