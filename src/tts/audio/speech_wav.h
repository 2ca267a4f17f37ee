// Speech as WAV bytes, at once or as it comes. Samples are scaled as the programs do that this speech model
// is used with, which is not quite how recordings are: 1 is the largest number, and fractions are cut off.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "audio/wav_writer.h"

namespace parlance {

// Without n_samples the stream goes on until its end.
std::vector<std::byte> speech_wav_header(WavEncoding encoding, std::optional<int64_t> n_samples);

// What is beyond [-1, 1] is clipped, but not in f32; what is no finite number is silence.
void append_speech(std::span<const float> samples, WavEncoding encoding, std::vector<std::byte>& bytes);

}  // namespace parlance
