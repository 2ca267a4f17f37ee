#include "cli/bench_say.h"

#include <algorithm>

#include "assistant/model_files.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"
#include "devices/devices.h"
#include "json/json.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/roofline.h"
#include "measure/say_quality.h"
#include "measure/say_steps.h"
#include "tts/audio/speech_format.h"
#include "tts/tts_model.h"

namespace parlance {

namespace {

constexpr int kSteps = 32;  // of a chunk, unless a user asks for another number

// The first clause of an answer; a sentence; a sentence in the voice of a long recording.
const std::vector<SayCase>& all_cases() {
  static const std::vector<SayCase> cases = {
      {.name = "clause", .n_text = 22, .n_reference = 0, .n_frames = 50},
      {.name = "sentence", .n_text = 27, .n_reference = 0, .n_frames = 163},
      {.name = "clone", .n_text = 90, .n_reference = 425, .n_frames = 223}};
  return cases;
}

// For whole speech: the same, a sentence in the voice of a reference as a hidden one is, or a long one is cut
// to, ten seconds in one part, and an answer that takes ten seconds in parts, the first of them a clause.
const std::vector<SayCase>& whole_cases() {
  static const std::vector<SayCase> cases = [] {
    std::vector<SayCase> all = all_cases();
    all.pop_back();
    all.push_back({.name = "referenced", .n_text = 43, .n_reference = 88, .n_frames = 163});
    all.push_back({.name = "long", .n_text = 150, .n_reference = 88, .n_frames = 250});
    all.push_back({.name = "answer", .n_text = 180, .n_reference = 88, .n_frames = 0});
    return all;
  }();
  return cases;
}

struct SayResult {
  const SayCase* chunk = nullptr;
  std::vector<std::pair<GuidanceMask, SayStep>> steps;
  SayDecode decode;
};

double audio_seconds(const SayCase& chunk) {
  return static_cast<double>(chunk.n_frames * kSpeechFrameSamples) / kSpeechRateHz;
}

double first_sound_s(const SayStep& step, const SayDecode& decode) {
  return kSteps * (step.pass_s + step.decide_s) + decode.first_window_s;
}

double real_time_factor(const SayCase& chunk, const SayStep& step, const SayDecode& decode) {
  return (kSteps * (step.pass_s + step.decide_s) + decode.windowed_s) / audio_seconds(chunk);
}

std::string_view name_of(GuidanceMask mask) {
  return mask == GuidanceMask::hard ? "hard" : "soft";
}

std::string memory_of(size_t bytes) {
  return bytes == 0 ? "-" : format_bytes(static_cast<double>(bytes));
}

std::string share_of_bound(const StepCost& cost, const Roofline& roofline, double seconds) {
  const double bound = bound_seconds(cost, roofline);
  return bound == 0 ? "-" : format_percent(bound / seconds);
}

Result<SayResult> run_case(const TtsModel& model, const SayCase& chunk,
                           const std::vector<GuidanceMask>& masks, int n_repetitions) {
  SayResult result{.chunk = &chunk, .steps = {}, .decode = {}};
  std::vector<int32_t> codes;
  for (const GuidanceMask mask : masks) {
    PARLANCE_TRY(const SayStep step, run_say_steps(model, chunk, mask, n_repetitions, codes));
    result.steps.emplace_back(mask, step);
  }
  PARLANCE_TRY(result.decode, run_say_decode(model, codes, chunk.n_frames, n_repetitions));
  return result;
}

void print_passes(const Console& io, const std::vector<SayResult>& results, const Roofline& roofline) {
  Table table({{"a step", Table::Align::left},
               {"guidance"},
               {"columns"},
               {"pass"},
               {"bound"},
               {"of bound"},
               {"Gop/s"},
               {"decisions"},
               {"memory"},
               {fmt::format("sound after {} steps", kSteps)},
               {"real-time factor"}});
  for (const SayResult& result : results) {
    const SayCase& chunk = *result.chunk;
    for (const auto& [mask, step] : result.steps) {
      table.add({fmt::format("{}: {} s{}", chunk.name, format_rate(audio_seconds(chunk)),
                             chunk.n_reference > 0 ? ", reference" : ""),
                 std::string(name_of(mask)), fmt::format("{}", step.n_columns), format_seconds(step.pass_s),
                 format_seconds(bound_seconds(step.cost, roofline)),
                 share_of_bound(step.cost, roofline, step.pass_s),
                 format_rate(step.cost.ops() / step.pass_s / 1e9), format_seconds(step.decide_s),
                 memory_of(step.memory_bytes), format_seconds(first_sound_s(step, result.decode)),
                 format_rate(real_time_factor(chunk, step, result.decode))});
    }
  }
  io.write(table.text(io) + "\n");
}

void print_decodes(const Console& io, const std::vector<SayResult>& results, const Roofline& roofline) {
  Table table({{"the codec", Table::Align::left},
               {"at once"},
               {"of bound"},
               {"a second of it"},
               {"in windows"},
               {"a second of it"},
               {"first window"},
               {"memory in windows"}});
  for (const SayResult& result : results) {
    const SayDecode& decode = result.decode;
    const double audio_s = audio_seconds(*result.chunk);
    table.add({fmt::format("{} s of speech", format_rate(audio_s)), format_seconds(decode.whole_s),
               share_of_bound(decode.cost, roofline, decode.whole_s),
               format_seconds(decode.whole_s / audio_s), format_seconds(decode.windowed_s),
               format_seconds(decode.windowed_s / audio_s), format_seconds(decode.first_window_s),
               memory_of(decode.memory_bytes)});
  }
  io.write(table.text(io) + "\n");
}

Json to_json(const SayResult& result, const Roofline& roofline) {
  const SayCase& chunk = *result.chunk;
  const SayDecode& decode = result.decode;
  Json steps = Json::array();
  for (const auto& [mask, step] : result.steps) {
    steps.push(Json::object({{"guidance_mask", name_of(mask)},
                             {"columns", step.n_columns},
                             {"pass_seconds", step.pass_s},
                             {"bound_seconds", bound_seconds(step.cost, roofline)},
                             {"decide_seconds", step.decide_s},
                             {"operations", step.cost.ops()},
                             {"bytes", step.cost.bytes},
                             {"memory_bytes", step.memory_bytes},
                             {"first_sound_seconds", first_sound_s(step, decode)},
                             {"real_time_factor", real_time_factor(chunk, step, decode)}}));
  }
  return Json::object({{"case", chunk.name},
                       {"audio_seconds", audio_seconds(chunk)},
                       {"text_tokens", chunk.n_text},
                       {"reference_frames", chunk.n_reference},
                       {"frames", chunk.n_frames},
                       {"steps", steps},
                       {"decode", Json::object({{"seconds", decode.whole_s},
                                                {"bound_seconds", bound_seconds(decode.cost, roofline)},
                                                {"operations", decode.cost.ops()},
                                                {"windowed_seconds", decode.windowed_s},
                                                {"first_window_seconds", decode.first_window_s},
                                                {"memory_bytes", decode.memory_bytes}})}});
}

bool is_wanted(const SayBench& options, const SayCase& chunk) {
  return options.cases.empty() || std::ranges::count(options.cases, chunk.name) > 0;
}

// Whole speech, case by case, in each quality.
Result<Json> run_whole(const Console& io, const SayBench& options, const TtsModel& model) {
  Table table({{"speech", Table::Align::left},
               {"quality", Table::Align::left},
               {"passes"},
               {"columns"},
               {"a column"},
               {"first sound"},
               {"network"},
               {"codec"},
               {"real-time factor"}});
  Json cases = Json::array();
  for (const SayCase& chunk : whole_cases()) {
    if (!is_wanted(options, chunk)) continue;
    for (const SpeechQuality quality : options.qualities) {
      PARLANCE_TRY(const SayRun run, run_say_quality(model, chunk, quality, options.n_repetitions));
      table.add({fmt::format("{}: {} s{}", chunk.name, format_rate(run.audio_s),
                             chunk.has_reference() ? ", reference" : ""),
                 std::string(name_of(quality)), fmt::format("{}", run.n_steps),
                 fmt::format("{}", run.n_columns),
                 format_seconds(run.model_s / static_cast<double>(run.n_columns)),
                 format_seconds(run.first_sound_s), format_seconds(run.model_s), format_seconds(run.codec_s),
                 format_rate(run.total_s / run.audio_s)});
      cases.push(Json::object({{"case", chunk.name},
                               {"quality", name_of(quality)},
                               {"audio_seconds", run.audio_s},
                               {"passes", run.n_steps},
                               {"columns", run.n_columns},
                               {"first_sound_seconds", run.first_sound_s},
                               {"model_seconds", run.model_s},
                               {"codec_seconds", run.codec_s},
                               {"real_time_factor", run.total_s / run.audio_s}}));
    }
  }
  if (!options.wants_json) {
    io.print("{}, {} thread{}\n\n", io.styled(Style::bold, model.device().name()), model.device().n_threads(),
             model.device().n_threads() == 1 ? "" : "s");
    io.write(table.text(io) + "\n");
    io.flush();
  }
  return Json::object({{"threads", model.device().n_threads()}, {"whole", cases}});
}

Result<Json> run_threads(const Console& io, const SayBench& options, const TtsFiles& files, Isa isa,
                         int n_threads) {
  PARLANCE_TRY(const auto device, make_device(options.device, n_threads));
  Roofline roofline;  // before the weights move into huge pages, which takes the processor's time
  if (device->name() == "cpu") roofline = measure_roofline(isa, device->n_threads());
  PARLANCE_TRY(const auto model, TtsModel::load(files, *device));
  if (!options.qualities.empty()) return run_whole(io, options, *model);
  PARLANCE_CHECK(warm_up_speech(*model));

  std::vector<SayResult> results;
  Json cases = Json::array();
  for (const SayCase& chunk : all_cases()) {
    if (!is_wanted(options, chunk)) continue;
    PARLANCE_TRY(const SayResult result, run_case(*model, chunk, options.masks, options.n_repetitions));
    results.push_back(result);
    cases.push(to_json(result, roofline));
  }
  if (!options.wants_json) {
    io.print("{}, {} thread{}\n\n", io.styled(Style::bold, device->name()), device->n_threads(),
             device->n_threads() == 1 ? "" : "s");
    print_passes(io, results, roofline);
    print_decodes(io, results, roofline);
    io.flush();
  }
  return Json::object({{"threads", device->n_threads()}, {"cases", cases}});
}

}  // namespace

std::vector<std::string> say_bench_cases() {
  std::vector<std::string> names;
  for (const SayCase& chunk : all_cases()) names.push_back(chunk.name);
  for (const SayCase& chunk : whole_cases()) {
    if (std::ranges::count(names, chunk.name) == 0) names.push_back(chunk.name);
  }
  return names;
}

Result<int> bench_say(const Console& io, const SayBench& options) {
  PARLANCE_TRY(const TtsFiles files, find_tts_files({.folder = options.folder}));
  PARLANCE_TRY(const Isa isa, choose_isa());
  Json runs = Json::array();
  for (const int64_t n : options.n_threads) {
    PARLANCE_TRY(const Json run, run_threads(io, options, files, isa, static_cast<int>(n)));
    runs.push(run);
  }
  if (options.wants_json) {
    io.print("{}\n", Json::object({{"model", files.base.string()},
                                   {"device", options.device},
                                   {"instruction_set", name_of(isa)},
                                   {"runs", runs}})
                         .pretty());
  }
  return 0;
}

}  // namespace parlance
