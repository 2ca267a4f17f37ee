#include "cli/eval_speech.h"

#include <chrono>

#include "assistant/default_model.h"
#include "audio/mel.h"
#include "cli/terminal/options.h"
#include "text/spoken_form.h"

namespace parlance {

SayModelChoice SpeechEvalOptions::say_models() const {
  return {.folder = listen.models.folder,
          .base = base,
          .codec = codec,
          .device = listen.models.device,
          .n_threads = listen.models.n_threads,
          .no_huge_pages = listen.models.no_huge_pages};
}

OptionGroup speech_set_group(SpeechEvalOptions& options, std::string help) {
  return {"Set",
          {text_option("--set", "PATH", std::move(help), options.set),
           number_option<int64_t>("--limit", "N", "Only N lines, spread evenly over the set. 0: all.",
                                  options.limit, 0, int64_t{1} << 31)}};
}

OptionGroup speech_models_group(SpeechEvalOptions& options, bool has_codec) {
  ListenModelChoice& models = options.listen.models;
  OptionGroup group{
      "Models",
      {text_option("-m, --model", "FOLDER",
                   "The bundle with the models. Without it: the bundled demo models.", models.folder),
       text_option("--asr", "FILE", "The recogniser's language model.", models.asr),
       text_option("--mmproj", "FILE", "The audio encoder that belongs to --asr.", models.mmproj)}};
  if (has_codec) {
    group.options.push_back(text_option("--base", "FILE", "The speech model.", options.base));
    group.options.push_back(
        text_option("--codec", "FILE", "The codec that belongs to --base.", options.codec));
  }
  group.options.push_back(threads_option(models.n_threads));
  group.options.push_back(device_option(models.device));
  group.options.push_back(huge_pages_option(models.no_huge_pages));
  return group;
}

OptionGroup speech_output_group(SpeechEvalOptions& options) {
  return {"Output",
          {flag("--show-failures", "Show what was misheard beside what was said.", options.shows_failures),
           json_option(options.wants_json)}};
}

Result<void> check_options(SpeechEvalOptions& options, std::string_view demo_set) {
  const auto refuse = [](const char* message) { return fail(ErrorCode::invalid_argument, "{}", message); };
  const ListenModelChoice& models = options.listen.models;
  if (models.asr.empty() != models.mmproj.empty()) {
    return refuse("--asr and --mmproj are the two files of one model; give both");
  }
  if (options.base.empty() != options.codec.empty()) {
    return refuse("--base and --codec are the two files of one model; give both");
  }
  return choose_set(options.set, demo_set);
}

TranscriptScores& TranscriptScores::operator+=(const TranscriptScores& other) {
  n_recordings += other.n_recordings;
  errors += other.errors;
  n_silent += other.n_silent;
  n_silent_right += other.n_silent_right;
  audio_s += other.audio_s;
  processing_s += other.processing_s;
  return *this;
}

Json to_json(const TranscriptScores& scores) {
  return Json::object({{"recordings", scores.n_recordings},
                       {"words", scores.errors.n_words},
                       {"word_error_rate", scores.errors.rate()},
                       {"substitutions", scores.errors.substitutions},
                       {"deletions", scores.errors.deletions},
                       {"insertions", scores.errors.insertions},
                       {"silent", scores.n_silent},
                       {"silent_right", scores.n_silent_right},
                       {"audio_seconds", scores.audio_s},
                       {"processing_seconds", scores.processing_s},
                       {"real_time_factor", scores.real_time_factor()}});
}

std::string percent_of_words(const TranscriptScores& scores) {
  if (scores.errors.n_words == 0) return "-";
  return fmt::format("{:.1f} %", 100 * scores.errors.rate());
}

void print_misheard(const Console& io, std::span<const Misheard> all) {
  for (const Misheard& one : all) {
    io.print("{}{}\n  said   {}\n  heard  {}\n\n", printable(one.name),
             one.group.empty() ? "" : fmt::format(" ({})", printable(one.group)), printable(one.text),
             printable(one.heard));
  }
}

Json to_json(std::span<const Misheard> all) {
  Json list = Json::array();
  for (const Misheard& one : all) {
    list.push(
        Json::object({{"name", one.name}, {"group", one.group}, {"text", one.text}, {"heard", one.heard}}));
  }
  return list;
}

Result<Hearer> Hearer::load(const ListenOptions& options) {
  PARLANCE_TRY(LoadedRecognizer loaded, load_recognizer(options));
  return Hearer(std::move(loaded), options.request);
}

Result<TranscriptScores> Hearer::hear(std::span<const float> samples, const std::string& text,
                                      std::string& heard, const Cancellation& cancellation) {
  const auto start = std::chrono::steady_clock::now();
  PARLANCE_TRY(const Transcription transcription,
               loaded_.recognizer->transcribe(samples, request_, {}, cancellation));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const Transcript& transcript = transcription.transcript;
  heard = transcript.text;
  const std::string said = spoken(text);
  TranscriptScores scores{.n_recordings = 1,
                          .errors = count_word_errors(said, spoken(heard)),
                          .audio_s = static_cast<double>(samples.size()) / kMelSampleRateHz,
                          .processing_s = elapsed.count()};
  if (said.empty()) {
    scores.n_silent = 1;
    scores.n_silent_right = transcript.language.empty() && heard.empty();
  }
  return scores;
}

void show_progress(const Console& io, size_t n_done, size_t n_all, const TranscriptScores& scores) {
  if (!io.err_is_terminal) return;
  io.write_progress(
      n_done == n_all ? std::string()
                      : fmt::format("{}/{}  {} of the words wrong", n_done, n_all, percent_of_words(scores)));
}

}  // namespace parlance
