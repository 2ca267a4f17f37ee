#include <algorithm>

#include "assistant/speech.h"
#include "audio/sound_encoder.h"
#include "text/unicode.h"
#include "tts/speech_plan.h"
#include "voice/phrase_chunker.h"
#include "wyoming/services.h"

namespace parlance {

namespace {

using SpeakClock = JobPort::Clock;

constexpr size_t kChunkBytes = 2 * kSpeechRateHz / 10;  // 100 ms of 16 bits

// One sound for all phrases of a text.
class SpokenSound {
 public:
  SpokenSound(JobPort& port, SoundEncoder encoder) : port_(port), encoder_(std::move(encoder)) {}

  void begin() {
    Json data = format();
    port_.send({.type = "audio-start", .data = data.set("timestamp", 0)});
  }
  Result<bool> add(std::span<const float> samples) {
    PARLANCE_TRY(const std::string bytes, encoder_.push(samples));
    for (size_t at = 0; at < bytes.size(); at += kChunkBytes) {
      WyomingEvent chunk{.type = "audio-chunk", .data = format(), .payload = bytes.substr(at, kChunkBytes)};
      chunk.data.set("timestamp", timestamp());
      n_bytes_ += chunk.payload.size();
      if (!port_.send(chunk)) return false;
    }
    return true;
  }
  void end() { port_.send({.type = "audio-stop", .data = Json::object({{"timestamp", timestamp()}})}); }

 private:
  static Json format() { return Json::object({{"rate", kSpeechRateHz}, {"width", 2}, {"channels", 1}}); }
  size_t timestamp() const { return n_bytes_ * 1000 / (2 * kSpeechRateHz); }

  JobPort& port_;
  SoundEncoder encoder_;
  size_t n_bytes_ = 0;
};

struct WantedVoice {
  std::string name, language;
};

// "voice": {name, language, speaker}. Errors: nobody is called so.
Result<WantedVoice> voice_of(const WyomingEvent& event, const WyomingOffer& offer) {
  WantedVoice voice;
  if (!offer.voices.empty()) voice.name = offer.voices.front();
  const auto given = event.data.member("voice");
  if (!given || given->is_null()) return voice;
  const auto member = [&](const char* name) {
    const auto value = given->member(name);
    return value ? value->text().value_or("") : "";
  };
  const std::string language = member("language");
  voice.language = language.substr(0, language.find_first_of("-_"));
  const std::string name = member("name");
  if (name.empty()) return voice;
  if (std::find(offer.voices.begin(), offer.voices.end(), name) == offer.voices.end()) {
    return fail(ErrorCode::not_found, "there is no voice {}; describe lists what there is",
                Json(name).line());
  }
  voice.name = name;
  return voice;
}

class Speaking {
 public:
  Speaking(Narrator narrator, SpeechRequest manner, SpokenSound& sound)
      : narrator_(std::move(narrator)), manner_(std::move(manner)), sound_(sound) {}

  Result<void> say(const std::string& text) {
    if (!can_be_said(text)) return {};
    SpeechRequest request = manner_;
    request.text = text;
    Result<void> state;
    PARLANCE_CHECK(narrator_.stream(request, [&](std::span<const float> samples, bool is_last) {
      if (is_last) return true;
      const auto is_wanted = sound_.add(samples);
      if (!is_wanted) state = tl::unexpected<Error>(is_wanted.error());
      return is_wanted && *is_wanted;
    }));
    return state;
  }

 private:
  const Narrator narrator_;
  const SpeechRequest manner_;
  SpokenSound& sound_;
};

// Phrases are spoken as they become complete, while the rest is still being written.
Result<void> say_pieces(JobPort& port, Speaking& speaking) {
  const auto began = SpeakClock::now();
  const auto now_ms = [&] {
    return std::chrono::duration<double, std::milli>(SpeakClock::now() - began).count();
  };
  PhraseChunker chunker;
  while (!port.has_ended()) {
    std::optional<SpeakClock::time_point> late;
    if (const auto wait_ms = chunker.wait_ms(now_ms())) {
      late = SpeakClock::now() + std::chrono::microseconds(static_cast<int64_t>(1000 * *wait_ms));
    }
    const auto event = port.next(late);
    std::vector<Phrase> phrases;
    if (event) phrases = chunker.push(sanitise_utf8(event->text("text")), now_ms());
    if (auto due = chunker.flush_if_late(now_ms()); due && phrases.empty())
      phrases.push_back(*std::move(due));
    for (const Phrase& phrase : phrases) PARLANCE_CHECK(speaking.say(phrase.text));
  }
  if (port.ticket().cancelled()) return {};
  if (const auto last = chunker.finish()) PARLANCE_CHECK(speaking.say(last->text));
  return {};
}

}  // namespace

Result<void> speak_for_wyoming(Regions& regions, const WyomingSetup& setup, const WyomingEvent& first,
                               JobPort& port, bool comes_in_pieces) {
  if (first.text("text_format") == "ssml") {
    return fail(ErrorCode::unsupported, "texts are spoken as they are; send plain text instead of SSML");
  }
  PARLANCE_TRY(const WantedVoice wanted, voice_of(first, setup.offer));
  PARLANCE_TRY(SoundEncoder encoder, SoundEncoder::open(SoundFormat::pcm, kSpeechRateHz));
  PARLANCE_TRY(auto region, regions.tts.acquire());
  Narrator narrator(std::move(region));
  SpeechRequest manner;
  manner.language = wanted.language;
  manner.chunking = kStreamedChunking;
  manner.quality = SpeechQuality::standard;
  manner.cancellation = port.ticket();
  PARLANCE_TRY(manner.voice, narrator.voice({.name = wanted.name}, port.ticket()));
  SpokenSound sound(port, std::move(encoder));
  Speaking speaking(std::move(narrator), std::move(manner), sound);
  sound.begin();
  const auto said = comes_in_pieces ? say_pieces(port, speaking) : speaking.say(first.text("text"));
  if (port.ticket().cancelled()) return {};
  PARLANCE_CHECK(said);
  sound.end();
  if (comes_in_pieces) port.send({.type = "synthesize-stopped"});
  return {};
}

}  // namespace parlance
