// POST /v1/audio/transcriptions.
#include <algorithm>

#include "asr/languages.h"
#include "assistant/speech_track.h"
#include "assistant/transcriber.h"
#include "audio/audio_file.h"
#include "base/ascii.h"
#include "base/parse_number.h"
#include "server/answer_writer.h"
#include "server/multipart.h"
#include "server/site.h"
#include "text/subtitles.h"
#include "vad/speech_segments.h"

namespace parlance {

namespace {

using HearingClock = std::chrono::steady_clock;

struct TranscriptionTerms {
  AsrRequest request;
  std::string format = "json";
  bool is_streamed = false, wants_words = false, finds_speech = false;
  std::string_view file;  // of the body
  std::string file_name;
  std::vector<std::string> ignored;
};

// A field of a form as the JSON that the table speaks of.
Json value_of_part(const Field* field, std::string_view text) {
  if (field && field->type == FieldType::boolean) {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
  }
  if (field && (field->field_class == FieldClass::neutral || field->type == FieldType::text_or_object)) {
    if (auto json = Json::parse(text)) return *std::move(json);
  }
  return text;
}

// The parts as one object: those called "name[]", and those that are lists, as arrays.
Json object_of(const std::vector<FormPart>& parts) {
  const auto fields = transcription_fields();
  std::vector<std::pair<std::string, Json>> members;
  for (const FormPart& part : parts) {
    if (part.is_file) continue;
    std::string name = part.name;
    const bool has_brackets = name.ends_with("[]");
    if (has_brackets) name.resize(name.size() - 2);
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
    const bool is_list = has_brackets || (field != fields.end() && field->type == FieldType::array);
    auto found = std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.first == name; });
    if (found == members.end()) {
      members.emplace_back(name, is_list ? Json::array() : Json());
      found = members.end() - 1;
    }
    const Json value = value_of_part(field == fields.end() || is_list ? nullptr : &*field, part.content);
    found->second = is_list && found->second.elements() ? found->second.push(value) : value;
  }
  Json object = Json::object();
  for (const auto& [name, value] : members) object.set(name, value);
  return object;
}

// Names and terms that may come up, as the recogniser takes them.
std::string context_of(const Body& body) {
  std::string context = body.text("prompt").value_or("");
  if (const Json* keywords = body.find("keywords")) {
    for (const Json& one : keywords->elements().value_or(std::vector<Json>())) {
      if (const auto word = one.text()) context += (context.empty() ? "" : " ") + *word;
    }
  }
  return context;
}

ApiResult<void> read_granularities(const Body& body, TranscriptionTerms& terms) {
  const Json* given = body.find("timestamp_granularities");
  if (!given) return {};
  const char* name = "timestamp_granularities";
  if (terms.format != "verbose_json") {
    return refuse("invalid_value", name, "{} needs response_format verbose_json", name);
  }
  for (const Json& one : given->elements().value_or(std::vector<Json>())) {
    const std::string word = one.text().value_or("");
    if (word != "segment" && word != "word")
      return refuse("invalid_value", name, "{} has segment and word", name);
    terms.wants_words = terms.wants_words || word == "word";
  }
  return {};
}

ApiResult<TranscriptionTerms> read_transcription(const Site& site, const Call& call) {
  PARLANCE_API_TRY(const auto parts, parse_multipart(call.request.field("content-type"), call.request.body));
  PARLANCE_API_TRY(const CheckedBody checked,
                   check_fields(transcription_fields(), object_of(parts),
                                {.is_strict = site.options.is_strict, .n_ctx = 0}));
  const Body& body = checked.body;
  TranscriptionTerms terms;
  terms.ignored = checked.ignored;
  const auto file = std::find_if(parts.begin(), parts.end(),
                                 [](const FormPart& part) { return part.is_file && part.name == "file"; });
  if (file == parts.end()) {
    return refuse("missing_required_parameter", "file",
                  "there is no file; send the recording as the part \"file\"");
  }
  if (file->content.size() > site.options.n_upload_bytes) {
    return tl::unexpected(
        ApiError{.status = 413,
                 .code = "request_too_large",
                 .message = fmt::format("the file has more than {} bytes", site.options.n_upload_bytes),
                 .param = "file",
                 .fields = {{"x-should-retry", "false"}}});
  }
  terms.file = file->content;
  terms.file_name = file->file_name.empty() ? "the file" : file->file_name;
  PARLANCE_API_CHECK(find_offer(site, body.text("model"), ModelKind::asr));
  if (const auto language = body.text("language"); language && !language->empty()) {
    const auto known = find_speech_language(*language);
    if (!known) return refuse("invalid_value", "language", "{}", api_error(known.error()).message);
    terms.request.language = std::string(known->name);
  }
  terms.request.context = context_of(body);
  terms.format = body.text("response_format").value_or("json");
  terms.is_streamed = body.boolean("stream");
  if (terms.is_streamed && terms.format != "json" && terms.format != "text") {
    return refuse("invalid_value", "stream", "stream needs response_format json or text");
  }
  terms.finds_speech = body.has("chunking_strategy") || terms.format == "srt" || terms.format == "vtt";
  PARLANCE_API_CHECK(read_granularities(body, terms));
  return terms;
}

Json verbose_json(const Heard& heard, bool has_words) {
  Json segments = Json::array(), words = Json::array();
  int id = 0;
  for (const HeardSegment& segment : heard.segments) {
    segments.push(Json::object({{"id", id++},
                                {"seek", 0},
                                {"start", segment.start_s},
                                {"end", segment.end_s},
                                {"text", segment.transcript.text},
                                {"temperature", 0}}));
    for (const TimedWord& word : segment.words) {
      words.push(
          Json::object({{"word", word.word}, {"start", word.start_seconds}, {"end", word.end_seconds}}));
    }
  }
  Json json = Json::object({{"task", "transcribe"},
                            {"language", ascii::lower(heard.transcript.language)},
                            {"duration", heard.audio_s},
                            {"text", heard.transcript.text},
                            {"segments", segments}});
  if (has_words) json.set("words", words);
  return json;
}

Json usage_of(const Heard& heard) {
  return Json::object({{"type", "duration"}, {"seconds", heard.audio_s}});
}

HttpAnswer head_of(const TranscriptionTerms& terms, std::string_view type) {
  HttpAnswer answer;
  if (const std::string ignored = ignored_text(terms.ignored); !ignored.empty()) {
    answer.fields.push_back({"x-parlance-ignored", ignored});
  }
  answer.fields.push_back({"content-type", std::string(type)});
  return answer;
}

// A transcript as events, while it is made. What was sent is not taken back: where the recogniser does so,
// nothing more comes until its text goes on from there, or the end.
class TranscriptStream {
 public:
  TranscriptStream(const TranscriptionTerms& terms, std::shared_ptr<Reply> reply)
      : terms_(terms), reply_(std::move(reply)) {}

  bool has_begun() const { return has_begun_; }

  void grow(const std::string& text) {
    if (text.size() <= sent_.size() || !text.starts_with(sent_)) return;
    write(Json::object({{"type", "transcript.text.delta"}, {"delta", text.substr(sent_.size())}}));
    sent_ = text;
  }

  void finish(const Heard& heard) {
    grow(heard.transcript.text);
    const AsrTokens& n = heard.n_tokens;
    const Json inputs = Json::object({{"audio_tokens", n.sound}, {"text_tokens", n.prompt}});
    const Json usage = Json::object({{"type", "tokens"},
                                     {"input_tokens", n.sound + n.prompt},
                                     {"input_token_details", inputs},
                                     {"output_tokens", n.answer},
                                     {"total_tokens", n.sound + n.prompt + n.answer}});
    write(Json::object({{"type", "transcript.text.done"}, {"text", sent_}, {"usage", usage}}));
    reply_->end();
  }

  void fail(const ApiError& error) {
    write(to_json(error));
    reply_->end();
  }

 private:
  void write(const Json& event) {
    if (!has_begun_) {
      HttpAnswer head = head_of(terms_, "text/event-stream; charset=utf-8");
      head.fields.push_back({"x-accel-buffering", "no"});
      reply_->begin(std::move(head));
    }
    has_begun_ = true;
    reply_->write(event_text(event));
  }

  const TranscriptionTerms& terms_;
  const std::shared_ptr<Reply> reply_;
  bool has_begun_ = false;
  std::string sent_;
};

std::vector<Cue> cues_of_speech(const Heard& heard) {
  std::vector<Cue> cues;
  for (const HeardSegment& s : heard.segments) cues.push_back({s.start_s, s.end_s, s.transcript.text});
  return cues;
}

void send_transcript(const Call& call, const TranscriptionTerms& terms, const Heard& heard) {
  const std::string& text = heard.transcript.text;
  std::string_view type = "application/json; charset=utf-8";
  std::string body;
  if (terms.format == "text") {
    type = "text/plain; charset=utf-8";
    body = text + "\n";
  } else if (terms.format == "srt") {
    type = "text/plain; charset=utf-8";
    body = srt_text(cues_of_speech(heard));
  } else if (terms.format == "vtt") {
    type = "text/vtt; charset=utf-8";
    body = webvtt_text(cues_of_speech(heard));
  } else if (terms.format == "verbose_json") {
    body = verbose_json(heard, terms.wants_words).set("usage", usage_of(heard)).line();
  } else {
    body = Json::object({{"text", text}, {"usage", usage_of(heard)}}).line();
  }
  HttpAnswer answer = head_of(terms, type);
  answer.body = std::move(body);
  call.reply->send(std::move(answer));
}

Result<Heard> hear_for(Site& site, const TranscriptionTerms& terms, AsrRegion& ears,
                       std::span<const float> samples, const RecordingWatch& watch,
                       const Cancellation& ticket) {
  if (terms.finds_speech) {
    if (const auto detector = site.regions.vad.acquire()) {
      SpeechTrack track((*detector)->model);
      PARLANCE_CHECK(track.push(samples, ticket));
      track.finish();
      return hear_speech(*ears.recognizer, samples, track.segments({}), terms.request, watch, ticket);
    }
  }
  return hear_recording(*ears.recognizer, samples, terms.request, watch, ticket);
}

ApiResult<void> hear_and_answer(Site& site, const Call& call, const TranscriptionTerms& terms) {
  const auto clip = read_audio(std::as_bytes(std::span(terms.file)), terms.file_name, kMelSampleRateHz,
                               {.max_bytes = static_cast<int64_t>(site.options.n_upload_bytes),
                                .max_seconds = site.options.most_audio_seconds});
  if (!clip) return tl::unexpected(sound_error(clip.error(), "file"));
  PARLANCE_API_TRY(const auto ears, site.regions.asr.acquire());
  const Cancellation ticket = call.reply->ticket();
  const auto began = HearingClock::now();
  TranscriptStream stream(terms, call.reply);
  RecordingWatch watch;
  if (terms.is_streamed) watch.on_text = [&](const std::string& text) { stream.grow(text); };
  auto result = hear_for(site, terms, *ears, clip->samples, watch, ticket);
  if (!result && stream.has_begun()) {
    stream.fail(api_error(result.error()));
    return {};
  }
  PARLANCE_API_TRY(Heard heard, std::move(result));
  if (terms.wants_words) {
    auto aligner = site.regions.aligner.acquire();
    if (!aligner) {
      return refuse("invalid_value", "timestamp_granularities",
                    "the times of words need an aligner, which this server has not; ask for segments");
    }
    PARLANCE_API_CHECK(time_words(
        *(*aligner)->aligner, clip->samples, heard, [](const HeardSegment&, const Error&) {}, ticket));
  }
  const double took = std::chrono::duration<double>(HearingClock::now() - began).count();
  if (heard.audio_s > 0) site.metrics.observe("asr_real_time_factor", took / heard.audio_s);
  site.metrics.add("requests_finished_total", 1, {{"kind", "transcription"}, {"reason", "stop"}});
  log_content(site, call.request.id, "transcript", heard.transcript.text);
  if (terms.is_streamed) {
    stream.finish(heard);
  } else {
    send_transcript(call, terms, heard);
  }
  return {};
}

}  // namespace

ApiResult<void> transcribe(Site& site, Call& call) {
  // The terms point into the body, which must stay where it is.
  const auto own = std::make_shared<Call>(std::move(call));
  call.reply = own->reply;
  PARLANCE_API_TRY(TranscriptionTerms terms, read_transcription(site, *own));
  const bool is_posted = site.sound.post([&site, own, terms = std::move(terms)] {
    if (own->reply->ticket().cancelled()) return;
    if (const auto done = hear_and_answer(site, *own, terms); !done) {
      send_error(*own, done.error());
      note_cancelled(site, *own->reply, "asr");
    }
  });
  if (is_posted) return {};
  return tl::unexpected(
      try_again(503, "server_overloaded", "too many requests for sound wait; try again later", 2));
}

}  // namespace parlance
