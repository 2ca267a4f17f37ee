// parlance eval codec: what words lose when speech goes through the codec.
#include <memory>

#include "audio/audio_file.h"
#include "audio/mel.h"
#include "cli/eval_speech.h"
#include "cli/eval_verbs.h"
#include "cli/terminal/interrupt.h"
#include "tts/audio/sinc_resampler.h"
#include "tts/speech_codec.h"

namespace parlance {

namespace {

// Recordings as they are, and what the codec makes of them.
struct CodecScores {
  TranscriptScores original, coded;
  double codec_s = 0;

  CodecScores& operator+=(const CodecScores& other) {
    original += other.original;
    coded += other.coded;
    codec_s += other.codec_s;
    return *this;
  }
  // Word errors that the codec adds, in percentage points.
  double points() const { return 100 * (coded.errors.rate() - original.errors.rate()); }
  double real_time_factor() const { return original.audio_s > 0 ? codec_s / original.audio_s : 0; }
};

Json to_json(const CodecScores& scores) {
  return Json::object({{"original", parlance::to_json(scores.original)},
                       {"coded", parlance::to_json(scores.coded)},
                       {"points", scores.points()},
                       {"codec_real_time_factor", scores.real_time_factor()}});
}

// To codes and back.
Result<std::vector<float>> through_codec(SpeechCodec& codec, std::span<const float> samples,
                                         const Cancellation& cancellation) {
  PARLANCE_TRY(const std::vector<int32_t> codes, codec.encode(samples, cancellation));
  const auto n_frames = std::ssize(codes) / codec.n_codebook();
  std::vector<float> coded;
  PARLANCE_CHECK(codec.decode(codes, n_frames, 0, n_frames, coded, cancellation));
  return coded;
}

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
  PARLANCE_TRY(Hearer hearer, Hearer::load(options.listen));
  PARLANCE_TRY(const LoadedSynthesizer loaded, load_synthesizer(options.say_models()));
  SpeechCodec codec(loaded.model->codec(), *loaded.device);
  const InterruptGuard guard;
  GroupedScores<CodecScores> scores;
  std::vector<Misheard> misheard;
  for (const SpeechLine& line : lines) {
    PARLANCE_TRY(const AudioClip clip, read_audio(line.audio, kMelSampleRateHz));
    PARLANCE_TRY(const std::vector<float> wide, read_for_codec(line.audio));
    const auto start = std::chrono::steady_clock::now();
    auto coded = through_codec(codec, wide, guard.ticket());
    if (!coded) return fail(coded.error().code, "{}: {}", line.audio.string(), coded.error().message);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;

    CodecScores one;
    one.codec_s = elapsed.count();
    std::string heard;
    PARLANCE_TRY(one.original, hearer.hear(clip.samples, line.text, heard, guard.ticket()));
    PARLANCE_TRY(one.coded, hearer.hear(sinc_resample(*coded, kSpeechRateHz, kMelSampleRateHz), line.text,
                                        heard, guard.ticket()));
    scores.add(line.group, one);
    if (one.coded.errors.errors() > 0) {
      misheard.push_back({line.audio.filename().string(), line.group, line.text, heard});
    }
    show_progress(io, scores.all.coded.n_recordings, lines.size(), scores.all.coded);
  }
  if (!options.wants_json) {
    if (options.shows_failures) print_misheard(io, misheard);
    print_scores(io, scores);
    return kSuccess;
  }
  Json json = to_json(scores);
  json.set("model", hearer.model_name());
  json.set("codec", std::filesystem::path(loaded.model->codec_name()).filename().string());
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
