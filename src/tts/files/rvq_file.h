// .rvq files: codes of 11 bits each without a head, the lowest bits first, codebook by codebook.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tts/audio_codes.h"

namespace parlance {

// How many codebooks there are is not in the file. Messages call the bytes `name`.
Result<AudioCodes> parse_rvq(std::span<const std::byte> bytes, std::string_view name, int64_t n_codebook);
std::vector<std::byte> rvq_bytes(const AudioCodes& codes);

Result<AudioCodes> read_rvq(const std::filesystem::path& path, int64_t n_codebook);
Result<void> write_rvq(const std::filesystem::path& path, const AudioCodes& codes);

}  // namespace parlance
