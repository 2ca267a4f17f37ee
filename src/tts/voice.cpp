#include "tts/voice.h"

#include <algorithm>

#include "tts/files/rvq_file.h"

namespace parlance {

namespace {

constexpr std::string_view kDefaultVoice = "default", kPresetEnding = ".bin", kCodesEnding = ".rvq";

bool names_file(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(kPresetEnding) ||
         name.ends_with(kCodesEnding);
}

}  // namespace

Result<Voice> voice_of_preset(const VoicePreset& preset, const CodeFormat& format, std::string_view name) {
  if (!preset.reference.empty()) {
    PARLANCE_CHECK(check_codes(preset.reference, format.n_codebook, format.n_codes, name));
  }
  return Voice{.reference = preset.reference,
               .reference_text = preset.reference_text,
               .rms = std::nullopt,
               .instruct = preset.instruct};
}

Result<Voice> read_voice(const std::filesystem::path& path, const CodeFormat& format) {
  if (path.extension() != kCodesEnding) {
    PARLANCE_TRY(const VoicePreset preset, read_voice_preset(path));
    return voice_of_preset(preset, format, path.string());
  }
  Voice voice;
  PARLANCE_TRY(voice.reference, read_rvq(path, format.n_codebook));
  PARLANCE_CHECK(check_codes(voice.reference, format.n_codebook, format.n_codes, path.string()));
  return voice;
}

Result<Voice> find_voice(const std::filesystem::path& bundle, std::string_view name,
                         const CodeFormat& format) {
  if (name.empty()) return Voice();
  if (names_file(name)) return read_voice(name, format);
  if (name == kDefaultVoice && !std::ranges::binary_search(list_voice_presets(bundle), kDefaultVoice)) {
    return Voice();
  }
  PARLANCE_TRY(const VoicePreset preset, find_voice_preset(bundle, name));
  return voice_of_preset(preset, format, name);
}

}  // namespace parlance
