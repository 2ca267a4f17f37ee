#include "server/realtime_offer.h"

#include "asr/languages.h"
#include "server/voices.h"

namespace parlance {

SessionOffer realtime_offer(const Site& site) {
  SessionOffer offer;
  offer.model = find_offer(site, std::nullopt, ModelKind::text).value_or("");
  offer.asr_model = find_offer(site, std::nullopt, ModelKind::asr).value_or("");
  offer.voice = site.options.voice;
  offer.instructions = site.options.system;
  offer.temperature = site.options.defaults.sampling.temperature;
  offer.find_voice = [&site](std::string_view name) -> RealtimeResult<std::string> {
    auto voice = find_offered_voice(site, Body(Json::object({{"voice", name}})));
    if (!voice) return reject(voice.error().code, std::nullopt, "{}", voice.error().message);
    return *std::move(voice);
  };
  offer.check_language = [](std::string_view name) -> RealtimeResult<void> {
    if (const auto known = find_speech_language(name); !known)
      return reject("invalid_value", std::nullopt, "{}", known.error().message);
    return {};
  };
  offer.is_model = [&site](std::string_view name) {
    return find_offer(site, std::string(name), ModelKind::text).has_value();
  };
  return offer;
}

ApiError api_error(const RealtimeError& error) {
  return {.status = 400, .code = error.code, .message = error.message, .param = error.param};
}

}  // namespace parlance
