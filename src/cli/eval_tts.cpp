// parlance eval tts: whether synthesised speech can be understood, and sounds like the voice that was asked
// for.
#include <memory>

#include "assistant/speech.h"
#include "audio/wav_writer.h"
#include "cli/eval_at_work.h"
#include "cli/eval_speech.h"
#include "cli/eval_tts_ways.h"
#include "cli/eval_verbs.h"
#include "cli/terminal/options.h"
#include "eval/speech_judge.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

struct EvalTtsOptions {
  SpeechEvalOptions speech;
  std::string keep;  // a folder for the speech
  std::string language = "en";
  std::string ways = "exact";  // of a quality each; the first one is what the others are compared with
  std::optional<int> n_step;   // of ways that do not say
  uint64_t seed = 42;
};

// Null when none was named and none is in the bundle.
Result<std::shared_ptr<SpeakerRegion>> load_verifier(const EvalTtsOptions& options, Regions& regions) {
  auto verifier = regions.speaker.acquire();
  const bool is_none = !verifier && verifier.error().code == ErrorCode::not_found;
  if (is_none && options.speech.models.files.speaker.empty()) return nullptr;
  return verifier;
}

// What the set asks for in a line, in the voice that it names.
Result<SpeechRequest> request_of(const EvalTtsOptions& options, const Narrator& narrator,
                                 const SpeechLine& line, const SpeechWay& way,
                                 const Cancellation& cancellation) {
  SpeechRequest request;
  request.cancellation = cancellation;
  request.text = line.text;
  request.instruct = line.instruct;
  request.language = options.language;
  if (options.n_step) request.decoding.n_step = *options.n_step;
  request.decoding.seed = way.seed.value_or(options.seed);
  PARLANCE_CHECK(way.choice.apply(request));
  VoiceChoice voice{
      .name = line.voice, .recording = line.reference.string(), .recording_text = line.reference_text};
  suit_quality(voice, way.choice.quality);
  PARLANCE_TRY(request.voice, narrator.voice(voice, cancellation));
  return request;
}

// Speaks a line, hears what was spoken, and keeps it under the name if there is a folder for it.
Result<JudgedSpeech> judge_line(const EvalTtsOptions& options, const Narrator& narrator, SpeechJudge& judge,
                                const SpeechLine& line, const SpeechWay& way, const std::string& name,
                                const Cancellation& cancellation) {
  PARLANCE_TRY(const SpeechRequest request, request_of(options, narrator, line, way, cancellation));
  PARLANCE_TRY(JudgedSpeech judged, judge.judge(request, line));
  if (!options.keep.empty()) {
    PARLANCE_CHECK(
        write_wav(fs::path(options.keep) / name, judged.speech.samples, {.sample_rate_hz = kSpeechRateHz}));
  }
  return judged;
}

void print_scores(const Console& io, const GroupedScores<TtsScores>& scores) {
  Table table({{"group", Table::Align::left},
               {"texts"},
               {"words"},
               {"word errors"},
               {"likeness"},
               {"least"},
               {"real-time factor"}});
  scores.for_each([&](const std::string& name, const TtsScores& group) {
    const auto mean = group.mean_likeness();
    table.add({printable(name), fmt::format("{}", group.transcripts.n_recordings),
               fmt::format("{}", group.transcripts.errors.n_words), percent_of_words(group.transcripts),
               mean ? fmt::format("{:.3f}", *mean) : "-",
               mean ? fmt::format("{:.3f}", group.least_likeness) : "-",
               fmt::format("{:.3f}", group.real_time_factor())});
  });
  io.write(table.text(io));
}

Result<int> eval_tts(const Console& io, const EvalTtsOptions& options) {
  const SpeechEvalOptions& speech = options.speech;
  PARLANCE_TRY(const std::vector<SpeechWay> ways, parse_speech_ways(options.ways));
  PARLANCE_TRY(const auto lines, read_speech_set(speech.set, SpeechSetKind::texts, speech.limit));
  Regions regions(speech.models);
  PARLANCE_TRY(const auto speaker, load_verifier(options, regions));
  PARLANCE_TRY(const auto ears, regions.asr.acquire());
  PARLANCE_TRY(const auto mouth, regions.tts.acquire());
  const Narrator narrator(mouth);
  Hearer hearer(*ears->recognizer, speech.request);
  SpeechJudge judge(*mouth->synthesizer, hearer, speaker ? &speaker->verifier : nullptr);
  if (!options.keep.empty()) {
    std::error_code error;
    fs::create_directories(options.keep, error);
    if (error) return fail(ErrorCode::io, "{}: {}", options.keep, error.message());
  }
  const EvalAtWork work(io);
  const EvalWatch watch = work.watch();
  if (ways.size() > 1) {
    Json json = Json::object({{"model", fs::path(mouth->model->base_name()).filename().string()},
                              {"recognizer", ears->text_name},
                              {"set", speech.set}});
    PARLANCE_CHECK(compare_speech_ways(
        io, {.ways = ways, .keep = options.keep, .wants_json = speech.wants_json}, lines, judge,
        [&](const SpeechLine& line, const SpeechWay& way) {
          return request_of(options, narrator, line, way, watch.cancellation);
        },
        watch, json));
    if (speech.wants_json) io.print("{}\n", json.pretty());
    return kSuccess;
  }
  GroupedScores<TtsScores> scores;
  std::vector<Misheard> misheard;
  for (size_t i = 0; i < lines.size(); ++i) {
    const SpeechLine& line = lines[i];
    const std::string name = fmt::format("{:04}.wav", i + 1);
    const auto one = judge_line(options, narrator, judge, line, ways.front(), name, watch.cancellation);
    if (!one) return fail(one.error().code, "text {}: {}", i + 1, one.error().message);
    scores.add(line.group, one->scores);
    if (one->scores.transcripts.errors.errors() > 0)
      misheard.push_back({name, line.group, line.text, one->heard});
    show_progress(watch, i + 1, lines.size(), scores.all.transcripts);
  }
  if (!speech.wants_json) {
    if (speech.shows_failures) print_misheard(io, misheard);
    print_scores(io, scores);
    return kSuccess;
  }
  Json json = to_json(scores);
  json.set("model", fs::path(mouth->model->base_name()).filename().string());
  json.set("recognizer", ears->text_name);
  json.set("set", speech.set).set("quality", ways.front().name).set("seed", options.seed);
  if (options.n_step) json.set("steps", *options.n_step);
  if (speech.shows_failures) json.set("misheard", to_json(misheard));
  io.print("{}\n", json.pretty());
  return kSuccess;
}

Result<void> check(EvalTtsOptions& options) {
  PARLANCE_CHECK(check_options(options.speech, "texts.jsonl"));
  const auto ways = parse_speech_ways(options.ways);
  return ways ? Result<void>() : tl::unexpected(ways.error());
}

}  // namespace

Command eval_tts_command() {
  const auto options = std::make_shared<EvalTtsOptions>();
  Command command;
  command.name = "eval tts";
  command.summary = "Score synthesised speech: what a recogniser understands, and whose voice it is.";
  command.description =
      "Every text is spoken and heard by the recogniser; word errors are as in 'parlance eval asr'. Likeness "
      "is "
      "the cosine between the voices of the speech and of a recording, if a speaker verifier is there.\n\n"
      "The set has one JSON object a line: {\"text\": \"What is to be said.\", \"voice\": \"anna\", "
      "\"instruct\": \"female\", \"ref\": \"me.wav\", \"ref_text\": \"What I say there.\", \"compare\": "
      "\"also-me.wav\", \"group\": \"presets\"}. Only text has to be there; voice and ref exclude each "
      "other, "
      "and ref is compared with where compare is not.";
  command.examples = {{"parlance eval tts --set texts.jsonl", "the bundled model"},
                      {"parlance eval tts --set texts.jsonl --quality exact,standard,fast",
                       "what less work costs, text by text"}};
  command.groups = {
      speech_set_group(
          options->speech,
          "The texts: a file, or a folder with index.jsonl. Without it: held-out texts of the demo."),
      {"Speech",
       {text_option("--quality", "LIST",
                    "exact, standard or fast; several are compared with the first: word errors by two "
                    "judges, likeness, codes, sound. Behind each a seed can stand, exact@7, and what is "
                    "other than in that quality: fast:confidence=1:steps=12.",
                    options->ways),
        number_option<int>("--steps", "N", "Passes of the network, in place of those of the quality.",
                           options->n_step, 1, 1000),
        number_option<uint64_t>("--seed", "N", "The same seed says the same.", options->seed, uint64_t{0},
                                ~uint64_t{0}),
        text_option("--language", "NAME", "Name or code of the language.", options->language),
        text_option("--keep", "FOLDER", "Keep the speech as 0001.wav, 0002.wav, …", options->keep)}},
      speech_models_group(options->speech, /*has_codec=*/true),
      speech_output_group(options->speech)};
  command.groups[2].options.push_back(text_option(
      "--speaker", "FILE",
      "Weights of the speaker verifier. Without it: those in the bundle's folder speaker, if any.",
      options->speech.models.files.speaker));
  command.check = [options] { return check(*options); };
  command.run = [options](Console& io) { return eval_tts(io, *options); };
  return command;
}

}  // namespace parlance
