// parlance eval asr: how many words the recogniser gets wrong.
#include <memory>

#include "audio/audio_file.h"
#include "audio/mel.h"
#include "cli/eval_at_work.h"
#include "cli/eval_speech.h"
#include "cli/eval_verbs.h"
#include "cli/terminal/units.h"

namespace parlance {

namespace {

void print_scores(const Console& io, const GroupedScores<TranscriptScores>& scores) {
  Table table({{"group", Table::Align::left},
               {"files"},
               {"words"},
               {"word errors"},
               {"wrong"},
               {"missing"},
               {"made up"},
               {"real-time factor"}});
  scores.for_each([&](const std::string& name, const TranscriptScores& group) {
    const WordErrors& errors = group.errors;
    table.add({printable(name), fmt::format("{}", group.n_recordings), fmt::format("{}", errors.n_words),
               percent_of_words(group), fmt::format("{}", errors.substitutions),
               fmt::format("{}", errors.deletions), fmt::format("{}", errors.insertions),
               fmt::format("{:.3f}", group.real_time_factor())});
  });
  io.write(table.text(io));
  if (scores.all.n_silent > 0) {
    io.print("  {} of {} recordings without speech are known as such\n", scores.all.n_silent_right,
             scores.all.n_silent);
  }
}

Result<int> eval_asr(const Console& io, const SpeechEvalOptions& options) {
  PARLANCE_TRY(const auto lines, read_speech_set(options.set, SpeechSetKind::recordings, options.limit));
  Regions regions(options.models);
  PARLANCE_TRY(const auto ears, regions.asr.acquire());
  Hearer hearer(*ears->recognizer, options.request);
  const EvalAtWork work(io);
  const EvalWatch watch = work.watch();
  GroupedScores<TranscriptScores> scores;
  std::vector<Misheard> misheard;
  for (const SpeechLine& line : lines) {
    PARLANCE_TRY(const AudioClip clip, read_audio(line.audio, kMelSampleRateHz));
    std::string heard;
    PARLANCE_TRY(const TranscriptScores one, hearer.hear(clip.samples, line.text, heard, watch.cancellation));
    scores.add(line.group, one);
    if (one.errors.errors() > 0 || one.n_silent_right < one.n_silent) {
      misheard.push_back({line.audio.filename().string(), line.group, line.text, heard});
    }
    show_progress(watch, scores.all.n_recordings, lines.size(), scores.all);
  }
  if (!options.wants_json) {
    if (options.shows_failures) print_misheard(io, misheard);
    print_scores(io, scores);
    return kSuccess;
  }
  Json json = to_json(scores);
  json.set("model", ears->text_name).set("set", options.set);
  if (options.shows_failures) json.set("misheard", to_json(misheard));
  io.print("{}\n", json.pretty());
  return kSuccess;
}

}  // namespace

Command eval_asr_command() {
  const auto options = std::make_shared<SpeechEvalOptions>();
  Command command;
  command.name = "eval asr";
  command.summary = "Score the speech recogniser on recordings whose words are known.";
  command.description =
      "Word errors are words that are wrong, missing or made up, as a share of the words that are said. "
      "English "
      "words are compared as they are spoken: \"28\" is \"twenty-eight\". Words made up over recordings "
      "without speech count, too.\n\n"
      "The set has one JSON object a line: {\"audio\": \"x.wav\", \"text\": \"What is said.\", \"group\": "
      "\"seen\"}; text is \"\" where nobody speaks, and group may be left out.";
  command.examples = {{"parlance eval asr --set speech-eval/", "the bundled model"},
                      {"parlance eval asr --set speech-eval/ --show-failures", "and what it misheard"}};
  command.groups = {
      speech_set_group(
          *options,
          "The recordings: a file, or a folder with index.jsonl. Without it: held-out speech of the demo."),
      {"Text",
       {text_option("--language", "NAME", "Name or code of the language; without it the model finds out.",
                    options->request.language)}},
      speech_models_group(*options, /*has_codec=*/false),
      speech_output_group(*options)};
  command.check = [options] { return check_options(*options, "speech"); };
  command.run = [options](Console& io) { return eval_asr(io, *options); };
  return command;
}

}  // namespace parlance
