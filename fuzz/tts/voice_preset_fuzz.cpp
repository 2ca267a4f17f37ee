// Any bytes as a voice preset: refused with one line, or read, and then written and read again as the same.
#include <cstdint>
#include <span>
#include <vector>

#include "allocations.h"
#include "tts/files/voice_preset.h"

namespace {

using namespace parlance;
using parlance::fuzz::require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<uint8_t> copy(data, data + size);
  // Sections may share bytes, and a phrase of 10 bytes takes some hundred.
  const fuzz::AllocationLimit limit(65536 + 256 * size);
  const Result<VoicePreset> preset = parse_voice_preset(std::as_bytes(std::span(copy)), "input");
  if (!preset) {
    require(preset.error().message.size() < 1000, "messages are short");
    for (const char c : preset.error().message)
      require(c >= ' ' && c <= '~', "messages are one line of plain text");
    return 0;
  }
  require(preset->reference.codes.size() ==
              static_cast<size_t>(preset->reference.n_codebook * preset->reference.n_frames()),
          "codes are whole frames");
  const Result<std::vector<std::byte>> written = voice_preset_bytes(*preset);
  require(written.has_value(), "what was read can be written");
  const Result<VoicePreset> again = parse_voice_preset(*written, "written");
  require(again.has_value(), "what was written can be read");
  require(*voice_preset_bytes(*again) == *written, "and is the same");  // bytes, as floats may be no numbers
  return 0;
}
