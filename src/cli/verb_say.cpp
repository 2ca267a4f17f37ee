// parlance say: text to speech, to a speaker, a file or a pipe.
#include <chrono>
#include <memory>

#include "assistant/regions.h"
#include "assistant/speech.h"
#include "audio_devices/device_list.h"
#include "cli/quality_options.h"
#include "cli/say_output.h"
#include "cli/say_report.h"
#include "cli/speech_models.h"
#include "cli/terminal/input.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/terminal/table.h"
#include "cli/verbs.h"
#include "text/unicode.h"
#include "tts/text/languages.h"

namespace parlance {

namespace {

using Clock = std::chrono::steady_clock;

struct SayOptions {
  std::optional<std::string> text;  // "-": standard input
  std::string file;                 // "-": standard input

  std::string output;  // a WAV file; "-": standard output; empty: the speaker
  WavEncoding encoding = WavEncoding::s16;
  std::string speaker;
  bool lists_speakers = false;
  bool is_streamed = false;
  bool wants_json = false;
  int n_warm_up = 0;

  VoiceChoice voice;
  std::optional<double> reference_seconds;
  SpeechRequest request;
  QualityChoice quality;
  bool has_quality = false;  // that was asked for
  bool keeps_noise = false, is_raw = false;
  std::optional<double> chunk_seconds;

  Choice models;
};

std::optional<GuidanceMask> parse_mask(std::string_view name) {
  if (name == "hard") return GuidanceMask::hard;
  if (name == "soft") return GuidanceMask::soft;
  return std::nullopt;
}

Result<int> list_speakers(const Console& io) {
  PARLANCE_TRY(const std::vector<AudioDevice> devices, list_audio_devices());
  Table table({{"speaker", Table::Align::left}, {"through", Table::Align::left}, {"channels"}, {"rate"}});
  for (const AudioDevice& device : devices) {
    if (device.n_outputs == 0) continue;
    table.add({printable(device.name) + (device.is_default_output ? " (default)" : ""),
               printable(device.system), std::to_string(device.n_outputs),
               fmt::format("{} Hz", device.sample_rate_hz)});
  }
  if (table.n_rows() == 0) {
    return fail(
        ErrorCode::not_found,
        "there is no speaker; plug one in, choose one in the sound settings of the system, or write a file "
        "with -o FILE");
  }
  io.write(table.text(io));
  return kSuccess;
}

Result<std::string> read_text(const Console& io, const SayOptions& options) {
  PARLANCE_TRY(const std::optional<std::string> given, read_input(io, options.text, options.file));
  if (!given) {
    return fail(ErrorCode::invalid_argument,
                "no text; give it in quotes, name a file with --file, or send it through a pipe");
  }
  std::string text = as_utf8(io, "the text", *given);
  if (!can_be_said(text)) {
    return fail(ErrorCode::invalid_argument,
                "there is nothing to say: the text has no letters and no digits");
  }
  return text;
}

Result<std::unique_ptr<SpeechOutput>> open_output(const Console& io, const SayOptions& options,
                                                  std::function<bool()> is_over) {
  if (!options.output.empty()) return open_wav_output(io, options.output, options.encoding);
  auto speaker = open_speaker_output(options.speaker, std::move(is_over));
  if (speaker) return speaker;
  return fail(speaker.error().code, "{}; or write a WAV file with -o FILE", speaker.error().message);
}

// Speaks once; to `output`, if there is one.
Result<SpeechReport> speak(const Narrator& narrator, const SpeechRequest& request, bool is_streamed,
                           SpeechOutput* output) {
  if (!is_streamed) {
    PARLANCE_TRY(Speech speech, narrator.say(request));
    if (output) PARLANCE_CHECK(output->write(speech.samples));
    return speech.report;
  }
  Result<void> written;
  auto report = narrator.stream(request, [&](std::span<const float> samples, bool is_last) {
    if (output && !is_last) written = output->write(samples);
    return written.has_value();
  });
  if (!written) return tl::unexpected(written.error());
  return report;
}

Json to_json(const SayOptions& options, const TtsRegion& region, const SpeechRequest& request,
             const SpeechOutput& output, double load_seconds) {
  const TtsModel& model = *region.model;
  const Device& device = *region.device;
  return Json::object(
      {{"output", output.name()},
       {"model", std::filesystem::path(model.base_name()).filename().string()},
       {"codec", std::filesystem::path(model.codec_name()).filename().string()},
       {"device", device.name()},
       {"device_description", device.description()},
       {"codec_device", region.codec_device->name()},
       {"threads", device.n_threads()},
       {"voice", options.voice.recording.empty() ? options.voice.name : options.voice.recording},
       {"reference_frames", request.voice.reference.n_frames()},
       {"language", std::string(find_tts_language(request.language))},
       {"seed", request.decoding.seed},
       {"quality", std::string(name_of(request.quality))},
       {"steps", decoding_of(request, !request.voice.reference.empty()).n_step},
       {"guidance_mask", request.mask == GuidanceMask::hard ? "hard" : "soft"},
       {"streamed", options.is_streamed || output.is_live()},
       {"warm_up_runs", options.n_warm_up},
       {"load_ms", 1000 * load_seconds}});
}

Result<int> say(const Console& io, const SayOptions& options) {
  if (options.lists_speakers) return list_speakers(io);
  SpeechRequest request = options.request;
  PARLANCE_TRY(request.text, read_text(io, options));

  std::optional<InterruptGuard> guard;  // from when there is something to clean up
  const auto is_over = [&] { return guard && guard->interrupted(); };
  PARLANCE_TRY(const auto output, open_output(io, options, is_over));
  const auto start = Clock::now();
  Regions regions(options.models);
  PARLANCE_TRY(auto region, regions.tts.acquire());
  const Narrator narrator(std::move(region), hear_with([&regions] { return regions.asr.acquire(); }),
                          [&io](const std::string& words) { io.note(words); });
  const double load_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  request.cancellation = guard.emplace().ticket();

  request.denoise = !options.keeps_noise;
  request.is_processed = !options.is_raw;
  const bool is_streamed = options.is_streamed || output->is_live();
  QualityChoice quality = options.quality;
  if (!options.has_quality && is_streamed) quality.quality = SpeechQuality::standard;
  PARLANCE_CHECK(quality.apply(request));
  request.checks_pace = !is_streamed && request.quality != SpeechQuality::exact;
  VoiceChoice voice = options.voice;
  suit_quality(voice, request.quality);
  if (options.reference_seconds) voice.reference_seconds = *options.reference_seconds;
  PARLANCE_TRY(request.voice, narrator.voice(voice, request.cancellation));
  if (is_streamed) request.chunking = kStreamedChunking;
  if (options.output.empty()) request.leading_silence = LeadingSilence::none;  // it would be heard as waiting
  if (options.chunk_seconds)
    request.chunking = {.chunk_seconds = static_cast<float>(*options.chunk_seconds), .threshold_seconds = 0};

  for (int i = 0; i < options.n_warm_up; ++i) {
    PARLANCE_CHECK(speak(narrator, request, is_streamed, nullptr));
  }
  const auto report = [&] {
    SayProgress progress(io);
    request.on_progress = [&](const SpeechProgress& done) { progress.show(done); };
    return speak(narrator, request, is_streamed, output.get());
  }();
  if (io.output_error != 0) return kFailure;  // whose reason is told at the end
  if (!report) return tl::unexpected(report.error());
  PARLANCE_CHECK(output->finish());
  if (options.wants_json) {
    Json json = to_json(options, narrator.region(), request, *output, load_seconds);
    add_report(json, *report);
    io.print("{}\n", json.pretty());
  } else if (io.err_is_terminal) {
    io.note(fmt::format("{}: {}", output->name(), summary_of(*report)));
  }
  return kSuccess;
}

Result<void> check_options(const SayOptions& options) {
  const auto refuse = [](const char* message) { return fail(ErrorCode::invalid_argument, "{}", message); };
  const SpeechRequest& request = options.request;
  PARLANCE_CHECK(check_speech_models(options.models));
  if (options.text && !options.file.empty())
    return refuse("TEXT and --file both give the text; leave one out");
  if (!options.output.empty() && !options.speaker.empty()) {
    return refuse("--output and --speaker both say where speech goes; leave one out");
  }
  if (options.output == "-" && options.wants_json) {
    return refuse("--json and -o - both write to standard output; give a FILE");
  }
  if (!options.voice.name.empty() && !options.voice.recording.empty()) {
    return refuse("--voice and --ref both say who speaks; leave one out");
  }
  if (options.voice.recording.empty() && !options.voice.recording_text.empty()) {
    return refuse("--ref-text has the words of a recording; name it with --ref");
  }
  if (!request.language.empty() && !is_no_language(request.language) &&
      find_tts_language(request.language).empty()) {
    return fail(
        ErrorCode::invalid_argument,
        "--language: '{}' is no language of the speech model; give a name in English or a code, such as "
        "German or de",
        request.language);
  }
  SpeechRequest checked = request;
  QualityChoice quality = options.quality;
  // Whether somebody listens is known later.
  if (!options.has_quality && quality.has_shortcuts()) quality.quality = SpeechQuality::standard;
  return quality.apply(checked);
}

OptionGroup output_group(SayOptions& options) {
  return {"Output",
          {text_option("-o, --output", "FILE",
                       "Write WAV to FILE, or to standard output for -; else speak aloud.", options.output),
           choice_option("--format", "FORMAT", "Samples of the WAV.", "s16, s24, f32", options.encoding,
                         parse_wav_encoding, "s16"),
           text_option("--speaker", "NAME", "The speaker whose name has this in it.", options.speaker),
           flag("--list-speakers", "Show the speakers of this machine and end.", options.lists_speakers),
           flag("--stream",
                "Compute a FILE as if somebody listened: a short first part, and sound as soon as it is "
                "known. Aloud and "
                "to standard output that is always done.",
                options.is_streamed),
           json_option(options.wants_json, "Print one JSON object with times and the parts of the text."),
           number_option<int>("--warm-up", "N", "Speak N times for nothing before the times are taken.",
                              options.n_warm_up, 0, 1000)}};
}

OptionGroup voice_group(SayOptions& options) {
  Option reference_seconds = number_option<double>(
      "--reference-seconds", "S", "Cut a longer recording behind a word, and its words with it. 0: use all.",
      options.reference_seconds, 0.0, static_cast<double>(Synthesizer::kMostReferenceSeconds));
  reference_seconds.fallback = "4, but all in exact quality";
  return {"Voice",
          {text_option(
               "--voice", "VOICE",
               "A voice of the bundle by its id, or a file: a preset (.bin) or codes (.rvq). Without it the "
               "model chooses.",
               options.voice.name),
           text_option("--ref", "FILE", "A recording to be spoken like: 3 to 10 seconds of speech.",
                       options.voice.recording),
           text_option("--ref-text", "TEXT",
                       "The words in that recording. Without it: what the bundle's recogniser hears.",
                       options.voice.recording_text),
           reference_seconds,
           text_option("--instruct", "WORDS",
                       "The voice in words, separated by commas: \"female, low pitch, british accent\".",
                       options.request.instruct),
           text_option("--language", "NAME", "Name or code of the language; without it the model finds out.",
                       options.request.language),
           number_option<float>("--speed", "X", "Faster or slower.", options.request.speed, 0.1f, 10.0f),
           number_option<double>(
               "--duration", "S", "Seconds of the whole speech; 0: as long as the text takes.",
               options.request.seconds, 0, static_cast<double>(kMostChunkFrames) / kFramesPerSecond),
           flag("--keep-noise", "Imitate the noise in a recording, too.", options.keeps_noise)}};
}

OptionGroup decoding_group(SayOptions& options) {
  MaskGitOptions& decoding = options.request.decoding;
  Option chunks = number_option<double>(
      "--chunk-seconds", "S", "Speak in parts of about S seconds, cut where sentences end; 0: in one.",
      options.chunk_seconds, 0.0, 120.0);
  chunks.fallback = "8 for who listens, 15 above 30 in files";
  std::vector<Option> made = quality_options(options.quality, "exact for files, standard for who listens");
  made.front().set = [&options, set = made.front().set](const std::string& text) {
    options.has_quality = true;
    return set(text);
  };
  for (Option& option : std::vector<Option>{
           number_option<float>("--guidance", "X",
                                "How closely speech keeps to text and voice; 0 halves the work.",
                                decoding.guidance, -100.0f, 100.0f),
           choice_option(
               "--guidance-mask", "MASK",
               "What speech is compared with: as the model was trained, or as omnivoice.cpp computes it, "
               "which is slower, for comparing.",
               "hard, soft", options.request.mask, parse_mask, "hard"),
           number_option<uint64_t>("--seed", "N", "The same seed says the same.", decoding.seed, uint64_t{0},
                                   ~uint64_t{0}),
           number_option<float>("--time-shift", "X", "Below 1 the first steps decide less.", decoding.t_shift,
                                1e-3f, 1e3f),
           number_option<float>("--layer-penalty", "X",
                                "How much later fine codes are decided than coarse ones.",
                                decoding.layer_penalty, -1e3f, 1e3f),
           number_option<float>("--position-temperature", "X", "Chance in which codes are decided first.",
                                decoding.position_temperature, 0.0f, 1e3f),
           number_option<float>("--class-temperature", "X", "Chance in what they are; 0: the likeliest.",
                                decoding.class_temperature, 0.0f, 1e3f),
           chunks,
           flag("--raw", "Leave silences, loudness and ends as the model made them.", options.is_raw)})
    made.push_back(std::move(option));
  return {"How it is made", std::move(made)};
}

}  // namespace

Command say_command() {
  const auto options = std::make_shared<SayOptions>();
  Command command;
  command.name = "say";
  command.summary = "Turn text into speech: aloud, or a WAV file.";
  command.description =
      "TEXT is spoken with the system's speaker, or written as WAV with -o. Without TEXT it is read from "
      "--file or "
      "standard input.\n\n"
      "The voice is one of the bundle (--voice), that of a recording (--ref with --ref-text), or described "
      "in words "
      "(--instruct); 'parlance voice' keeps that of a recording in a file. Tags such as [laughter] or [sigh] "
      "in the "
      "text are sounds.";
  command.examples = {
      {"parlance say -m bundle/ \"Good morning.\"", "aloud"},
      {"parlance say -m bundle/ --voice anna -o hello.wav \"Good morning.\"",
       "with a voice of the bundle, to a file"},
      {"parlance say -m bundle/ --ref me.wav --ref-text \"What I say there.\" \"Good morning.\"",
       "with the voice of a recording"},
      {"parlance say -m bundle/ --file story.txt -o - | aplay", "a long text, played while it is computed"}};
  Option text{.names = "TEXT",
              .value = "TEXT",
              .help = "What to say; - for standard input.",
              .fallback = {},
              .set = {}};
  text.set = [options](const std::string& given) -> Result<void> {
    options->text = given;
    return {};
  };
  command.positionals = {text};
  command.groups = {
      {"Text", {file_option(options->file, "Read the text from a file; - for standard input.")}},
      output_group(*options),
      voice_group(*options),
      decoding_group(*options),
      shortcut_group(options->quality),
      say_model_group(options->models)};
  command.check = [options] { return check_options(*options); };
  command.run = [options](Console& io) { return say(io, *options); };
  return command;
}

}  // namespace parlance
