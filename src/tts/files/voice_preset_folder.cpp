// The voice presets of a bundle, by id.
#include <fmt/ranges.h>

#include <algorithm>

#include "tts/files/voice_preset.h"

namespace parlance {

namespace {

constexpr std::string_view kFolder = "cache", kPrefix = "voice-preset-", kSuffix = ".bin";
constexpr size_t kMaxIdBytes = 128;

bool is_preset_id(std::string_view id) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !id.empty() && id.size() <= kMaxIdBytes && std::ranges::all_of(id, is_allowed) &&
         id.find("..") == std::string_view::npos;
}

}  // namespace

std::vector<std::string> list_voice_presets(const std::filesystem::path& bundle) {
  std::vector<std::string> ids;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(bundle / kFolder, ignored), end; entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.size() <= kPrefix.size() + kSuffix.size() || !name.starts_with(kPrefix) ||
        !name.ends_with(kSuffix))
      continue;
    const std::string id = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
    if (is_preset_id(id)) ids.push_back(id);
  }
  std::ranges::sort(ids);
  return ids;
}

Result<VoicePreset> find_voice_preset(const std::filesystem::path& bundle, std::string_view id) {
  if (!is_preset_id(id)) {
    return fail(
        ErrorCode::invalid_argument,
        "\"{}\" cannot be the name of a voice; it has 1 to {} letters, digits, '.', '_' or '-', without "
        "\"..\"",
        id.substr(0, kMaxIdBytes), kMaxIdBytes);
  }
  const std::filesystem::path path =
      bundle / kFolder / (std::string(kPrefix) + std::string(id) + std::string(kSuffix));
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    const std::vector<std::string> ids = list_voice_presets(bundle);
    if (ids.empty()) {
      return fail(ErrorCode::not_found, "there is no voice \"{}\": {} has no voice presets in {}/", id,
                  bundle.string(), kFolder);
    }
    return fail(ErrorCode::not_found, "there is no voice \"{}\" in {}; it has {}", id, bundle.string(),
                fmt::join(ids, ", "));
  }
  return read_voice_preset(path);
}

}  // namespace parlance
