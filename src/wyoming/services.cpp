#include "wyoming/services.h"

namespace parlance {

namespace {

// Members that may be absent are there all the same: older readers need them.
Json offered(std::string_view name, const Json& description, const Json& version) {
  return Json::object({{"name", name},
                       {"attribution", Json::object({{"name", "Parlance"}, {"url", ""}})},
                       {"installed", true},
                       {"description", description},
                       {"version", version}});
}

Json list_of(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push(text);
  return list;
}

Json model(std::string_view name, const WyomingOffer& offer) {
  return offered(name, Json(), Json()).set("languages", list_of(offer.languages));
}

Json one(const Json& element) {
  return Json::array().push(element);
}

}  // namespace

WyomingEvent wyoming_info(const WyomingOffer& offer) {
  const auto program = [&](const char* description) {
    return offered("parlance", description, offer.version);
  };
  Json asr = Json::array(), tts = Json::array(), handle = Json::array();
  if (!offer.asr_model.empty()) {
    asr.push(program("Speech to text")
                 .set("supports_transcript_streaming", true)
                 .set("requires_external_vad", true)
                 .set("prefers_auto_gain_enabled", false)
                 .set("prefers_noise_reduction_enabled", false)
                 .set("models", one(model(offer.asr_model, offer))));
  }
  if (!offer.tts_model.empty()) {
    Json voices = Json::array();
    for (const std::string& voice : offer.voices) voices.push(model(voice, offer).set("speakers", Json()));
    tts.push(program("Text to speech").set("supports_synthesize_streaming", true).set("voices", voices));
  }
  if (!offer.text_model.empty()) {
    handle.push(program("Conversation")
                    .set("supports_handled_streaming", true)
                    .set("supports_home_control", false)
                    .set("models", one(model(offer.text_model, offer))));
  }
  Json data = Json::object({{"asr", asr}, {"tts", tts}, {"handle", handle}});
  for (const char* absent : {"intent", "wake", "mic", "snd"}) data.set(absent, Json::array());
  return {.type = "info", .data = data};
}

WyomingServices wyoming_services(Regions& regions, WyomingSetup given) {
  const auto setup = std::make_shared<const WyomingSetup>(std::move(given));
  const auto memory = std::make_shared<ConversationMemory>();
  return {.info = [bytes = wyoming_bytes(wyoming_info(setup->offer))] { return bytes; },
          .hear = [&regions, setup](const WyomingEvent& first,
                                    JobPort& port) { return hear_for_wyoming(regions, *setup, first, port); },
          .speak =
              [&regions, setup](const WyomingEvent& first, JobPort& port) {
                return speak_for_wyoming(regions, *setup, first, port, /*comes_in_pieces=*/false);
              },
          .speak_along =
              [&regions, setup](const WyomingEvent& first, JobPort& port) {
                return speak_for_wyoming(regions, *setup, first, port, /*comes_in_pieces=*/true);
              },
          .answer = [&regions, setup, memory](
                        const WyomingEvent& first,
                        JobPort& port) { return answer_for_wyoming(regions, *setup, *memory, first, port); }};
}

}  // namespace parlance
