#include "cli/eval_speech.h"

#include "assistant/default_model.h"
#include "cli/terminal/options.h"

namespace parlance {

OptionGroup speech_set_group(SpeechEvalOptions& options, std::string help) {
  return {"Set",
          {text_option("--set", "PATH", std::move(help), options.set),
           number_option<int64_t>("--limit", "N", "Only N lines, spread evenly over the set. 0: all.",
                                  options.limit, 0, int64_t{1} << 31)}};
}

OptionGroup speech_models_group(SpeechEvalOptions& options, bool has_codec) {
  ModelFiles& files = options.models.files;
  DeviceChoice& devices = options.models.devices;
  OptionGroup group{
      "Models",
      {model_text_option("-m, --model", "FOLDER",
                         "The bundle with the models. Without it: the bundled demo models.", files.folder),
       model_text_option("--asr", "FILE", "The recogniser's language model.", files.asr),
       model_text_option("--mmproj", "FILE", "The audio encoder that belongs to --asr.", files.mmproj)}};
  if (has_codec) {
    group.options.push_back(model_text_option("--base", "FILE", "The speech model.", files.base));
    group.options.push_back(
        model_text_option("--codec", "FILE", "The codec that belongs to --base.", files.codec));
  }
  group.options.push_back(threads_option(devices.n_threads));
  group.options.push_back(device_option(devices.voice));
  group.options.push_back(huge_pages_option(devices.huge_pages));
  return group;
}

OptionGroup speech_output_group(SpeechEvalOptions& options) {
  return {"Output",
          {flag("--show-failures", "Show what was misheard beside what was said.", options.shows_failures),
           json_option(options.wants_json)}};
}

Result<void> check_options(SpeechEvalOptions& options, std::string_view demo_set) {
  PARLANCE_CHECK(check(options.models.files));
  return choose_set(options.set, demo_set);
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

Json to_json(const CodecScores& scores) {
  return Json::object({{"original", to_json(scores.original)},
                       {"coded", to_json(scores.coded)},
                       {"points", scores.points()},
                       {"codec_real_time_factor", scores.real_time_factor()}});
}

Json to_json(const TtsScores& scores) {
  Json json = to_json(scores.transcripts);
  json.set("synthesis_real_time_factor", scores.real_time_factor());
  json.set("compared", scores.n_compared);
  if (const auto mean = scores.mean_likeness()) {
    json.set("likeness", *mean).set("least_likeness", scores.least_likeness);
  }
  return json;
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

void show_progress(const EvalWatch& watch, size_t n_done, size_t n_all, const TranscriptScores& scores) {
  watch.show([&] {
    return n_done == n_all
               ? std::string()
               : fmt::format("{}/{}  {} of the words wrong", n_done, n_all, percent_of_words(scores));
  });
}

}  // namespace parlance
