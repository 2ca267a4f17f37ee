// Any bytes as sound that arrives in pieces: whatever the pieces, the same samples or the same refusal, in
// memory in proportion to their number. The first byte says what is expected and how the rest is cut.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>

#include "allocations.h"
#include "audio/pcm_stream.h"

namespace {

using namespace parlance;
using parlance::fuzz::require;

struct Outcome {
  std::vector<float> samples;
  std::optional<Error> error;
};

Outcome run(PcmStream stream, std::span<const std::byte> bytes, size_t most, unsigned seed) {
  Outcome outcome;
  std::mt19937 random(seed);
  while (!bytes.empty()) {
    const size_t n = std::min<size_t>(1 + random() % most, bytes.size());
    const auto pushed = stream.push(bytes.first(n), outcome.samples);
    if (!pushed) {
      outcome.error = pushed.error();
      return outcome;
    }
    bytes = bytes.subspan(n);
  }
  const auto finished = stream.finish();
  if (!finished) outcome.error = finished.error();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const unsigned choice = data[0];
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  const fuzz::AllocationLimit limit(65536 + 32 * size);

  PcmStream stream = PcmStream::wav("input");
  if (choice % 8 != 0) {  // else WAV
    auto raw = PcmStream::raw("input", {.encoding = static_cast<PcmEncoding>(choice % 5),
                                        .sample_rate_hz = 16000,
                                        .n_channels = static_cast<int>(choice / 8)});
    require(raw.has_value() == (choice / 8 >= 1), "1 to 64 channels are taken");
    if (!raw) return 0;
    stream = *std::move(raw);
  }
  const Outcome whole = run(stream, bytes, bytes.size() + 1, 0);
  const Outcome pieces = run(stream, bytes, 1 + choice % 37, choice);
  require(whole.samples == pieces.samples, "the same samples in any pieces");
  require(whole.error.has_value() == pieces.error.has_value(), "the same refusal in any pieces");
  for (const float sample : whole.samples)
    require(std::fabs(sample) <= kLoudest, "samples are numbers that can be meant");
  if (!whole.error) return 0;
  const std::string& message = whole.error->message;
  require(message == pieces.error->message, "the same words in any pieces");
  require(message.size() < 1000, "messages are short");
  for (const char c : message) require(c >= ' ' && c <= '~', "messages are one line of plain text");
  return 0;
}
