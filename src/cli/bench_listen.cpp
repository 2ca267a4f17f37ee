#include "cli/bench_listen.h"

#include <cmath>
#include <numbers>
#include <random>

#include "asr/recognizer.h"
#include "assistant/model_files.h"
#include "audio/audio_file.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"
#include "devices/devices.h"
#include "json/json.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/roofline.h"
#include "measure/listen_batch.h"
#include "measure/listen_live.h"

namespace parlance {

namespace {

constexpr double kPauseSeconds = 5;  // of speech before a pause

// Syllables: a buzz of eight overtones that comes and goes, a pause every few seconds, a little noise. The
// first second is the loudest: windows that were encoded stay valid, as they do in nearly all recordings.
std::vector<float> speech_like(double seconds) {
  constexpr double kTurn = 2 * std::numbers::pi;
  std::mt19937 random(1);
  std::vector<float> samples(static_cast<size_t>(seconds * kMelSampleRateHz));
  double phase = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double t = static_cast<double>(i) / kMelSampleRateHz;
    phase += kTurn * (120 + 30 * std::sin(kTurn * 0.7 * t)) / kMelSampleRateHz;
    double voice = 0;
    for (int overtone = 1; overtone <= 8; ++overtone) {
      const double colour = 1 + 0.5 * std::sin(kTurn * (0.9 + 0.1 * overtone) * t);
      voice += std::sin(overtone * phase) / overtone * colour;
    }
    const double loudest = t < 1 ? 0.2 : 0.1;
    const double loudness = std::fmod(t, 5) > 4.4 ? 0 : loudest * std::max(0.0, std::sin(kTurn * 3.1 * t));
    const double noise = 0.01 * (static_cast<double>(random()) / 0x1p32 - 0.5);
    samples[i] = static_cast<float>(loudness * voice + noise);
  }
  return samples;
}

Result<std::vector<float>> samples_of(const ListenBench& options) {
  if (options.audio.empty()) return speech_like(options.seconds);
  PARLANCE_TRY(AudioClip clip, read_audio(options.audio, kMelSampleRateHz));
  if (!clip.samples.empty()) return std::move(clip.samples);
  return fail(ErrorCode::invalid_argument, "{}: no sound in it; give a recording of some seconds",
              options.audio);
}

struct LiveFigures {
  LiveStream stream;
  std::vector<LiveUpdate> updates;
  double pause_to_final_s = 0;
};

Result<LiveFigures> run_live(const AsrModel& model, std::span<const float> samples, int n_repetitions) {
  LiveFigures live;
  PARLANCE_TRY(const auto recognizer, make_bench_recognizer(model));
  PARLANCE_TRY(live.stream, run_live_stream(*recognizer, samples));
  const auto n_pause = static_cast<size_t>(kPauseSeconds * kMelSampleRateHz);
  PARLANCE_TRY(
      live.pause_to_final_s,
      pause_to_final_s(*recognizer, samples.first(std::min(n_pause, samples.size())), n_repetitions));
  PARLANCE_TRY(live.updates, run_live_updates(model, samples, n_repetitions));
  return live;
}

void print_batch(const Console& io, const ListenBatch& batch, double audio_s, const Roofline& roofline) {
  Table table({{"a whole recording", Table::Align::left},
               {"time"},
               {"bound"},
               {"of bound"},
               {"operations"},
               {"bytes"}});
  for (const ListenStage& stage : batch.stages) {
    const double bound = bound_seconds(stage.cost, roofline);
    if (bound == 0) {
      table.add({stage.name, format_seconds(stage.seconds), "-", "-", "-", "-"});
    } else {
      table.add({stage.name, format_seconds(stage.seconds), format_seconds(bound),
                 format_percent(bound / stage.seconds), format_count(stage.cost.ops()),
                 format_bytes(stage.cost.bytes)});
    }
  }
  table.add({"to the text, in one call", format_seconds(batch.total_s), "", "", "", ""});
  io.write(table.text(io));
  io.print(
      "  {} s of audio, {} tokens of it, {} of the answer: real-time factor {}, {} of processor time\n\n",
      format_rate(audio_s), batch.n_audio_tokens, batch.n_answer_tokens, format_rate(batch.total_s / audio_s),
      format_seconds(batch.processor_s));
}

void print_live(const Console& io, const LiveFigures& live, const ListenBatch& batch, double audio_s) {
  Table table({{"while it is spoken, in pieces of 100 ms", Table::Align::left}, {""}});
  table.add({"processor time", format_seconds(live.stream.processor_s)});
  table.add({"  over that of the whole recording", format_rate(live.stream.processor_s / batch.processor_s)});
  table.add({"first text after", format_seconds(live.stream.first_partial_s)});
  table.add({"updates", fmt::format("{}", live.stream.n_updates)});
  table.add({fmt::format("last sample of {} s to the text", format_rate(audio_s)),
             format_seconds(live.stream.final_s)});
  table.add({fmt::format("pause after {} s to the text", format_rate(std::min(kPauseSeconds, audio_s))),
             format_seconds(live.pause_to_final_s)});
  for (const LiveUpdate& update : live.updates)
    table.add({fmt::format("update at {} s", format_rate(update.audio_s)), format_seconds(update.seconds)});
  table.add({"longest feed()", format_ms(live.stream.longest_feed_us / 1e3)});
  table.add({"longest partial()", format_ms(live.stream.longest_partial_us / 1e3)});
  io.write(table.text(io));
}

Json to_json(const ListenBatch& batch, double audio_s, const Roofline& roofline) {
  Json stages = Json::array();
  for (const ListenStage& stage : batch.stages) {
    stages.push(Json::object({{"stage", stage.name},
                              {"seconds", stage.seconds},
                              {"bound_seconds", bound_seconds(stage.cost, roofline)},
                              {"operations", stage.cost.ops()},
                              {"bytes", stage.cost.bytes}}));
  }
  return Json::object({{"stages", stages},
                       {"total_seconds", batch.total_s},
                       {"processor_seconds", batch.processor_s},
                       {"real_time_factor", batch.total_s / audio_s},
                       {"audio_tokens", batch.n_audio_tokens},
                       {"answer_tokens", batch.n_answer_tokens}});
}

Json to_json(const LiveFigures& live, const ListenBatch& batch) {
  Json updates = Json::array();
  for (const LiveUpdate& update : live.updates)
    updates.push(Json::object({{"audio_seconds", update.audio_s}, {"seconds", update.seconds}}));
  return Json::object({{"processor_seconds", live.stream.processor_s},
                       {"over_whole_recording", live.stream.processor_s / batch.processor_s},
                       {"first_text_seconds", live.stream.first_partial_s},
                       {"updates", live.stream.n_updates},
                       {"final_seconds", live.stream.final_s},
                       {"pause_to_final_seconds", live.pause_to_final_s},
                       {"update_seconds", updates},
                       {"longest_feed_us", live.stream.longest_feed_us},
                       {"longest_partial_us", live.stream.longest_partial_us}});
}

Result<Json> run_threads(const Console& io, const ListenBench& options, const AsrFiles& files, Isa isa,
                         std::span<const float> samples, int n_threads) {
  const double audio_s = static_cast<double>(samples.size()) / kMelSampleRateHz;
  PARLANCE_TRY(const auto device, make_device(options.device, n_threads));
  PARLANCE_TRY(const auto model, AsrModel::load(files, *device));
  Roofline roofline;
  if (device->name() == "cpu") roofline = measure_roofline(isa, device->n_threads());
  PARLANCE_TRY(const ListenBatch batch, run_listen_batch(*model, files, samples, options.n_repetitions));
  Json run = Json::object({{"threads", device->n_threads()}, {"batch", to_json(batch, audio_s, roofline)}});
  if (!options.wants_json) {
    io.print("{}, {} thread{}\n\n", io.styled(Style::bold, device->name()), device->n_threads(),
             device->n_threads() == 1 ? "" : "s");
    print_batch(io, batch, audio_s, roofline);
    io.flush();
  }
  if (options.has_live) {
    PARLANCE_TRY(const LiveFigures live, run_live(*model, samples, options.n_repetitions));
    if (!options.wants_json) print_live(io, live, batch, audio_s);
    run.set("live", to_json(live, batch));
  }
  return run;
}

}  // namespace

Result<int> bench_listen(const Console& io, const ListenBench& options) {
  PARLANCE_TRY(const AsrFiles files, find_asr_files({.folder = options.folder}));
  PARLANCE_TRY(const Isa isa, choose_isa());
  PARLANCE_TRY(const std::vector<float> samples, samples_of(options));
  Json runs = Json::array();
  for (const int64_t n : options.n_threads) {
    PARLANCE_TRY(const Json run, run_threads(io, options, files, isa, samples, static_cast<int>(n)));
    runs.push(run);
  }
  if (options.wants_json) {
    io.print("{}\n", Json::object({{"model", files.text.string()},
                                   {"device", options.device},
                                   {"instruction_set", name_of(isa)},
                                   {"audio_seconds", static_cast<double>(samples.size()) / kMelSampleRateHz},
                                   {"runs", runs}})
                         .pretty());
  }
  return 0;
}

}  // namespace parlance
