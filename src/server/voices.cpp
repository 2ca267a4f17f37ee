#include "server/voices.h"

#include <algorithm>
#include <array>

#include "assistant/model_files.h"
#include "tts/files/voice_preset.h"

namespace parlance {

namespace {

// Names that clients of OpenAI's interface can send, some of them no others.
constexpr std::array kForeignVoices = {"alloy", "ash",  "ballad",  "coral", "echo",  "fable", "onyx",
                                       "nova",  "sage", "shimmer", "verse", "marin", "cedar"};

bool is_in(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<std::string> offered_voices(const Site& site) {
  std::vector<std::string> voices = {"default"};
  for (std::string& voice : list_voice_presets(find_voices(site.options.models.files))) {
    if (voice != "default") voices.push_back(std::move(voice));
  }
  return voices;
}

ApiResult<std::string> find_offered_voice(const Site& site, const Body& body) {
  const auto given = body.find("voice") && body.find("voice")->is_object() ? body.object("voice").text("id")
                                                                           : body.text("voice");
  if (!given) {
    if (body.has("voice")) return refuse("invalid_type", "voice", "voice must be a name or {{\"id\": …}}");
    return site.options.voice;
  }
  const std::vector<std::string> voices = offered_voices(site);
  if (is_in(voices, *given)) return *given;
  for (const auto& [name, preset] : site.options.voice_aliases) {
    if (name == *given && is_in(voices, preset)) return preset;
  }
  const bool is_foreign =
      std::find(kForeignVoices.begin(), kForeignVoices.end(), *given) != kForeignVoices.end();
  if (is_foreign && site.options.has_voice_aliases) return site.options.voice;
  std::string listed;
  for (const std::string& voice : voices) listed += (listed.empty() ? "" : ", ") + voice;
  return refuse("invalid_value", "voice", "there is no voice {}; there is {}", Json(*given).line(), listed);
}

}  // namespace parlance
