// Voices as files: cache/voice-preset-<id>.bin of a bundle, of version 1 (which has no voice that this
// program can speak with) and 2.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tts/audio_codes.h"

namespace parlance {

// Something that was spoken ahead of time, to fill a pause.
struct SpokenPhrase {
  std::string text;
  int sample_rate_hz = 0;
  std::vector<float> samples;

  bool operator==(const SpokenPhrase&) const = default;
};

// What is absent is empty. Version 1 has an embedding and phrases only.
struct VoicePreset {
  int version = 2;
  std::vector<float> speaker_embedding;  // kept, and not used
  std::vector<SpokenPhrase> phrases;
  AudioCodes reference;        // of a recording whose voice this is,
  std::string reference_text;  // in which this is said
  std::string instruct;        // the voice in words
  std::string metadata;        // JSON, kept as it is

  bool operator==(const VoicePreset&) const = default;
};

// Messages call the bytes `name`. Whether the codes suit a codec is asked by check_codes().
Result<VoicePreset> parse_voice_preset(std::span<const std::byte> bytes, std::string_view name);

// Refuses what the version has no place for.
Result<std::vector<std::byte>> voice_preset_bytes(const VoicePreset& preset);

Result<VoicePreset> read_voice_preset(const std::filesystem::path& path);
Result<void> write_voice_preset(const std::filesystem::path& path, const VoicePreset& preset);

// The ids of the presets that a bundle has, sorted.
std::vector<std::string> list_voice_presets(const std::filesystem::path& bundle);

// The preset of a bundle. An id is made of letters, digits, '.', '_' and '-', without "..".
Result<VoicePreset> find_voice_preset(const std::filesystem::path& bundle, std::string_view id);

}  // namespace parlance
