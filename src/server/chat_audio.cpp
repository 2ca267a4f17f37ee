#include "server/chat_audio.h"

#include <algorithm>
#include <utility>

#include "assistant/transcriber.h"
#include "audio/audio_file.h"
#include "text/base64.h"

namespace parlance {

namespace {

constexpr std::string_view kRecording = "input_audio";

std::vector<Json> elements_of(const Json* list) {
  return list ? list->elements().value_or(std::vector<Json>()) : std::vector<Json>();
}

bool is_recording(const Json& part) {
  const auto type = part.member("type");
  return type && type->text() == kRecording;
}

ApiResult<std::string> transcript_of(Site& site, AsrRegion& ears, const Json& part, const std::string& where,
                                     const Cancellation& ticket) {
  const Body recording = Body(part).object(kRecording);
  const std::string format = recording.text("format").value_or("");
  if (format != "wav" && format != "mp3") {
    return refuse("invalid_value", where + ".format", "{}.format must be wav or mp3, got {}", where,
                  Json(format).line());
  }
  const auto bytes = from_base64(recording.text("data").value_or(""));
  if (!bytes || bytes->empty())
    return refuse("invalid_value", where + ".data", "{}.data must be a recording in base64", where);
  const auto clip = read_audio(std::as_bytes(std::span(*bytes)), where, kMelSampleRateHz,
                               {.max_bytes = static_cast<int64_t>(site.options.n_upload_bytes),
                                .max_seconds = site.options.most_audio_seconds});
  if (!clip) return tl::unexpected(sound_error(clip.error(), where + ".data"));
  PARLANCE_API_TRY(Heard heard, hear_recording(*ears.recognizer, clip->samples, {}, {}, ticket));
  return std::move(heard.transcript.text);
}

// The chat with words in place of recordings.
ApiResult<HeardChat> heard_chat(Site& site, const Body& chat, const Cancellation& ticket) {
  PARLANCE_API_TRY(const auto ears, site.regions.asr.acquire());
  HeardChat heard;
  Json messages = Json::array();
  const std::vector<Json> given = elements_of(chat.find("messages"));
  for (size_t i = 0; i < given.size(); ++i) {
    Json message = given[i];
    const auto content = message.member("content");
    const std::vector<Json> parts = elements_of(content ? &*content : nullptr);
    if (std::ranges::any_of(parts, is_recording)) {
      Json written = Json::array();
      for (size_t j = 0; j < parts.size(); ++j) {
        if (!is_recording(parts[j])) {
          written.push(parts[j]);
          continue;
        }
        const std::string where = fmt::format("messages[{}].content[{}].{}", i, j, kRecording);
        PARLANCE_API_TRY(std::string words, transcript_of(site, *ears, parts[j], where, ticket));
        written.push(Json::object({{"type", "text"}, {"text", words}}));
        heard.transcripts.push_back(std::move(words));
      }
      message.set("content", written);
    }
    messages.push(message);
  }
  Json body = Json::object();
  for (const auto& [name, value] : chat.members()) body.set(name, name == "messages" ? messages : value);
  heard.chat = Body(body);
  return heard;
}

tl::unexpected<ApiError> too_many() {
  return tl::unexpected(
      try_again(503, "server_overloaded", "too many requests for sound wait; try again later", 2));
}

}  // namespace

bool has_recordings(const Body& chat) {
  for (const Json& message : elements_of(chat.find("messages"))) {
    const auto content = message.is_object() ? message.member("content") : std::nullopt;
    const std::vector<Json> parts = elements_of(content ? &*content : nullptr);
    if (std::ranges::any_of(parts, is_recording)) return true;
  }
  return false;
}

ApiResult<void> hear_recordings(Site& site, Call& call, const Body& chat, OnHeardChat go_on) {
  PARLANCE_API_CHECK(find_offer(site, std::nullopt, ModelKind::asr));
  const auto own = std::make_shared<Call>(std::move(call));
  call.reply = own->reply;
  const bool is_posted = site.sound.post([&site, own, chat, go_on = std::move(go_on)] {
    if (own->reply->ticket().cancelled()) return;
    auto heard = heard_chat(site, chat, own->reply->ticket());
    if (!heard) {
      send_error(*own, heard.error());
      return note_cancelled(site, *own->reply, "asr");
    }
    const bool is_taken = site.prep.post([own, go_on, heard = *std::move(heard)] {
      if (own->reply->ticket().cancelled()) return;
      if (const auto done = go_on(*own, heard); !done) send_error(*own, done.error());
    });
    if (!is_taken) send_error(*own, too_many().value());
  });
  return is_posted ? ApiResult<void>() : too_many();
}

}  // namespace parlance
