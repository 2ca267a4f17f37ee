// Whose voice speaks: a recording's, as codes of the codec and the words in it, or one described in words.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tts/audio_codes.h"
#include "tts/files/voice_preset.h"

namespace parlance {

struct Voice {
  AudioCodes reference;        // none: the model chooses a voice
  std::string reference_text;  // what is said in it
  std::optional<float> rms;    // of the recording, where that is known: speech gets its loudness
  std::string instruct;        // "female, low pitch", see resolve_voice_design()
};

// What codes a codec knows.
struct CodeFormat {
  int64_t n_codebook = 0;
  int32_t n_codes = 0;
};

// The codes and words of a preset, which messages call `name`.
Result<Voice> voice_of_preset(const VoicePreset& preset, const CodeFormat& format, std::string_view name);

// A preset (.bin) or bare codes (.rvq).
Result<Voice> read_voice(const std::filesystem::path& path, const CodeFormat& format);

// The voice that a person names: a file, known by a folder or the ending in its name, else the id of a preset
// of the bundle. Empty, and "default" where the bundle has no such preset: the model chooses.
Result<Voice> find_voice(const std::filesystem::path& bundle, std::string_view name,
                         const CodeFormat& format);

}  // namespace parlance
