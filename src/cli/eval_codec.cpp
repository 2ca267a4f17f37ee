// parlance eval codec: what words lose when speech goes through the codec.
#include <memory>

#include "assistant/speech.h"
#include "audio/audio_file.h"
#include "audio/mel.h"
#include "cli/eval_at_work.h"
#include "cli/eval_speech.h"
#include "cli/eval_verbs.h"
#include "eval/codec_scores.h"

namespace parlance {

namespace {

void print_scores(const Console& io, const GroupedScores<CodecScores>& scores) {
  Table table({{"group", Table::Align::left},
               {"files"},
               {"words"},
               {"original"},
               {"coded"},
               {"points"},
               {"real-time factor"}});
  scores.for_each([&](const std::string& name, const CodecScores& group) {
    table.add({printable(name), fmt::format("{}", group.original.n_recordings),
               fmt::format("{}", group.original.errors.n_words), percent_of_words(group.original),
               percent_of_words(group.coded),
               group.original.errors.n_words > 0 ? fmt::format("{:+.1f}", group.points()) : "-",
               fmt::format("{:.3f}", group.real_time_factor())});
  });
  io.write(table.text(io));
  if (const TranscriptScores& original = scores.all.original; original.n_silent > 0) {
    io.print("  {} of {} recordings without speech are known as such, {} of them coded\n",
             original.n_silent_right, original.n_silent, scores.all.coded.n_silent_right);
  }
}

Result<int> eval_codec(const Console& io, const SpeechEvalOptions& options) {
  PARLANCE_TRY(const auto lines, read_speech_set(options.set, SpeechSetKind::recordings, options.limit));
  Regions regions(options.models);
  PARLANCE_TRY(const auto ears, regions.asr.acquire());
  PARLANCE_TRY(const auto mouth, regions.tts.acquire());
  Hearer hearer(*ears->recognizer, options.request);
  SpeechCodec codec(mouth->model->codec(), *mouth->device);
  CodecJudge judge(codec, hearer);
  const EvalAtWork work(io);
  const EvalWatch watch = work.watch();
  GroupedScores<CodecScores> scores;
  std::vector<Misheard> misheard;
  for (const SpeechLine& line : lines) {
    PARLANCE_TRY(const AudioClip clip, read_audio(line.audio, kMelSampleRateHz));
    PARLANCE_TRY(const std::vector<float> wide, read_for_codec(line.audio));
    std::string heard;
    const auto one = judge.judge(clip.samples, wide, line.text, heard, watch.cancellation);
    if (!one) return fail(one.error().code, "{}: {}", line.audio.string(), one.error().message);
    scores.add(line.group, *one);
    if (one->coded.errors.errors() > 0) {
      misheard.push_back({line.audio.filename().string(), line.group, line.text, heard});
    }
    show_progress(watch, scores.all.coded.n_recordings, lines.size(), scores.all.coded);
  }
  if (!options.wants_json) {
    if (options.shows_failures) print_misheard(io, misheard);
    print_scores(io, scores);
    return kSuccess;
  }
  Json json = to_json(scores);
  json.set("model", ears->text_name);
  json.set("codec", std::filesystem::path(mouth->model->codec_name()).filename().string());
  json.set("set", options.set);
  if (options.shows_failures) json.set("misheard", to_json(misheard));
  io.print("{}\n", json.pretty());
  return kSuccess;
}

}  // namespace

Command eval_codec_command() {
  const auto options = std::make_shared<SpeechEvalOptions>();
  Command command;
  command.name = "eval codec";
  command.summary = "Score the speech codec by what a recogniser still understands.";
  command.description =
      "Every recording goes through the codec, to codes and back to sound. The recogniser hears both; points "
      "are the word errors that the codec adds, in percentage points. What the recogniser gets wrong by "
      "itself is in both.\n\n"
      "The set is that of 'parlance eval asr'.";
  command.examples = {{"parlance eval codec --set speech-eval/", "the bundled codec"}};
  command.groups = {
      speech_set_group(
          *options,
          "The recordings: a file, or a folder with index.jsonl. Without it: held-out speech of the demo."),
      speech_models_group(*options, /*has_codec=*/true), speech_output_group(*options)};
  command.check = [options] { return check_options(*options, "speech"); };
  command.run = [options](Console& io) { return eval_codec(io, *options); };
  return command;
}

}  // namespace parlance
