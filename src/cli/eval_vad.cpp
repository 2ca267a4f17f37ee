// parlance eval vad: how well the voice detector finds speech in recordings that say where it is.
#include <map>
#include <memory>

#include "assistant/default_model.h"
#include "assistant/regions.h"
#include "cli/eval_verbs.h"
#include "cli/terminal/options.h"
#include "cli/terminal/table.h"
#include "eval/detector_set.h"
#include "json/json.h"

namespace parlance {

namespace {

struct EvalVadOptions {
  std::string set;
  Choice models;
  double threshold = 0.5;
  bool wants_windows = false;
  bool wants_json = false;
};

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string delay_text(const std::vector<double>& delays_ms) {
  return delays_ms.empty() ? "-" : fmt::format("{:.0f} ms", quantile(delays_ms, 0.5));
}

void print_scores(const Console& io, const std::map<double, DetectorScores>& by_snr,
                  const DetectorScores& all) {
  Table table({{"snr", Table::Align::left},
               {"files"},
               {"auc"},
               {"found"},
               {"false"},
               {"missed turns"},
               {"onset p50"},
               {"offset p50"}});
  const auto add = [&](const std::string& name, const DetectorScores& group) {
    const ThresholdScores& at = group.at_threshold;
    table.add({name, std::to_string(group.n_recordings), fmt::format("{:.4f}", group.auc),
               fmt::format("{:.1f} %", 100 * share(at.n_detected, at.n_speech)),
               fmt::format("{:.1f} %", 100 * share(at.n_false, at.n_silent)),
               fmt::format("{} of {}", at.n_missed, at.n_turns), delay_text(at.onset_ms),
               delay_text(at.offset_ms)});
  };
  for (const auto& [snr_db, group] : by_snr) add(fmt::format("{:g} dB", snr_db), group);
  add("all", all);
  io.write(table.text(io));
  io.print("  {} false alarms in {:.1f} minutes without speech: {:.2f} a minute\n", all.at_threshold.n_alarms,
           all.at_threshold.alarm_minutes, all.at_threshold.alarms_per_minute());
}

Json to_json(const DetectorScores& group) {
  const ThresholdScores& at = group.at_threshold;
  return Json::object({{"recordings", group.n_recordings},
                       {"auc", group.auc},
                       {"speech_found", share(at.n_detected, at.n_speech)},
                       {"silence_taken_for_speech", share(at.n_false, at.n_silent)},
                       {"turns", at.n_turns},
                       {"missed_turns", at.n_missed},
                       {"onset_ms_p50", quantile(at.onset_ms, 0.5)},
                       {"onset_ms_p90", quantile(at.onset_ms, 0.9)},
                       {"offset_ms_p50", quantile(at.offset_ms, 0.5)},
                       {"offset_ms_p90", quantile(at.offset_ms, 0.9)}});
}

Json windows_json(std::span<const LabelledRecording> labelled, std::span<const JudgedRecording> judged) {
  Json files = Json::object();
  for (size_t i = 0; i < judged.size(); ++i) {
    Json windows = Json::array();
    for (const float p : judged[i].probabilities) windows.push(static_cast<double>(p));
    files.set(labelled[i].audio, windows);
  }
  return files;
}

Result<int> eval_vad(const Console& io, const EvalVadOptions& options) {
  PARLANCE_TRY(const auto labelled, read_labels(options.set));
  Regions regions(options.models);
  PARLANCE_TRY(const auto detector, regions.vad.acquire());
  std::vector<JudgedRecording> judged;
  std::map<double, std::vector<JudgedRecording>> groups;
  for (const LabelledRecording& recording : labelled) {
    PARLANCE_TRY(judged.emplace_back(), judge(options.set, recording, detector->model));
    if (recording.snr_db) groups[*recording.snr_db].push_back(judged.back());
  }
  const DetectorScores all = scores_of(judged, options.threshold);
  std::map<double, DetectorScores> by_snr;
  for (const auto& [snr_db, group] : groups) by_snr[snr_db] = scores_of(group, options.threshold);
  if (!options.wants_json) {
    print_scores(io, by_snr, all);
    return kSuccess;
  }
  Json ratios = Json::object();
  for (const auto& [snr_db, group] : by_snr) ratios.set(fmt::format("{:g}", snr_db), to_json(group));
  Json json = Json::object({{"set", options.set},
                            {"threshold", options.threshold},
                            {"all", to_json(all)},
                            {"by_snr_db", ratios},
                            {"minutes_without_speech", all.at_threshold.alarm_minutes},
                            {"false_alarms", all.at_threshold.n_alarms},
                            {"false_alarms_per_minute", all.at_threshold.alarms_per_minute()}});
  if (options.wants_windows) json.set("windows", windows_json(labelled, judged));
  io.print("{}\n", json.pretty());
  return kSuccess;
}

Result<void> check_options(EvalVadOptions& options) {
  const auto refuse = [](const char* message) { return fail(ErrorCode::invalid_argument, "{}", message); };
  if (options.wants_windows && !options.wants_json) return refuse("--windows is for scripts; add --json");
  return choose_set(options.set, "vad");
}

}  // namespace

Command eval_vad_command() {
  const auto options = std::make_shared<EvalVadOptions>();
  Command command;
  command.name = "eval vad";
  command.summary = "Score the voice detector on recordings that say where speech is.";
  command.description =
      "Every window of 32 ms is judged. auc is how often a window of speech has a higher probability than "
      "one "
      "without; found and false are shares of windows of speech and of other windows at or above the "
      "threshold. "
      "Delays are from the true start or end of a turn until a window has shown it.\n\n"
      "The folder has recordings and labels.jsonl, one JSON object a line: {\"audio\": \"x.wav\", "
      "\"speech\": "
      "[[start, end], …], \"snr_db\": 10}, in seconds; a recording without speech has [].";
  command.examples = {
      {"parlance eval vad --set vad-eval/ --vad silero.gguf", "how good these weights are"},
      {"parlance eval vad --set vad-eval/ --json --windows", "with every window's probability"}};
  command.groups = {
      {"Recordings",
       {text_option("--set", "FOLDER", "The folder with labels.jsonl. Without it: that of the demo.",
                    options->set),
        number_option<double>("--threshold", "P", "Probability from which on a window is speech.",
                              options->threshold, 0, 1)}},
      {"Model",
       {text_option("--vad", "FILE",
                    "Weights of the Silero voice detector. Without it: as for 'parlance listen'.",
                    options->models.files.vad)}},
      {"Output",
       {flag("--windows", "Every window's probability too, in --json.", options->wants_windows),
        json_option(options->wants_json)}}};
  command.check = [options] { return check_options(*options); };
  command.run = [options](Console& io) { return eval_vad(io, *options); };
  return command;
}

}  // namespace parlance
