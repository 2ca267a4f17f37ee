// parlance listen: speech to text, from a file, a pipe or the microphone.
#include <array>
#include <memory>

#include "asr/languages.h"
#include "assistant/regions.h"
#include "assistant/sound_source.h"
#include "audio_devices/device_list.h"
#include "cli/listen_live.h"
#include "cli/listen_recording.h"
#include "cli/listen_speech.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/terminal/table.h"
#include "cli/verbs.h"

namespace parlance {

namespace {

std::optional<ListenFormat> parse_format(std::string_view name) {
  if (name == "text") return ListenFormat::text;
  if (name == "json") return ListenFormat::json;
  if (name == "srt") return ListenFormat::srt;
  if (name == "vtt") return ListenFormat::vtt;
  return std::nullopt;
}

std::optional<AsrMode> parse_mode(std::string_view name) {
  if (name == "reference") return kReferenceAsr;
  if (name == "eliza") return kElizaAsr;
  return std::nullopt;
}

std::optional<PcmEncoding> parse_pcm_encoding(std::string_view name) {
  if (name == "u8") return PcmEncoding::u8;
  if (name == "s16le") return PcmEncoding::s16;
  if (name == "s24le") return PcmEncoding::s24;
  if (name == "s32le") return PcmEncoding::s32;
  if (name == "f32le") return PcmEncoding::f32;
  return std::nullopt;
}

Result<int> list_microphones(const Console& io) {
  PARLANCE_TRY(const std::vector<AudioDevice> devices, list_audio_devices());
  Table table({{"microphone", Table::Align::left}, {"through", Table::Align::left}, {"channels"}, {"rate"}});
  for (const AudioDevice& device : devices) {
    if (device.n_inputs == 0) continue;
    table.add({printable(device.name) + (device.is_default_input ? " (default)" : ""),
               printable(device.system), std::to_string(device.n_inputs),
               fmt::format("{} Hz", device.sample_rate_hz)});
  }
  if (table.n_rows() == 0) {
    return fail(ErrorCode::not_found,
                "there is no microphone; plug one in, or choose one in the sound settings of the system");
  }
  io.write(table.text(io));
  return kSuccess;
}

Result<int> find_speech(const Console& io, const ListenOptions& options) {
  Regions regions(options.models);
  PARLANCE_TRY(const auto region, regions.vad.acquire());
  const auto& detector = region->model;
  if (options.file == "-") {
    return listen_for_speech(io, options, *open_standard_input(io.in, options.pcm), detector);
  }
  const InterruptGuard guard;
  std::unique_ptr<SoundSource> source;
  if (!options.file.empty()) {
    PARLANCE_TRY(source, open_recording(options.file));
  } else {
    std::string name;
    PARLANCE_TRY(source, open_microphone_source(
                             options.microphone, [&] { return guard.interrupted(); }, name));
    if (io.err_is_terminal) io.note(fmt::format("listening to {}; Ctrl-C ends", name));
  }
  // Ctrl-C is how listening to a microphone ends.
  const Cancellation cancellation = source->is_patient() ? guard.ticket() : Cancellation();
  return listen_for_speech(io, options, *source, detector, cancellation);
}

Result<int> listen(const Console& io, const ListenOptions& options) {
  if (options.lists_microphones) return list_microphones(io);
  if (options.is_vad_only) return find_speech(io, options);
  if (options.is_recording()) return listen_to_recording(io, options);
  return listen_live(io, options);
}

Result<void> check_options(const ListenOptions& options) {
  const auto refuse = [](const char* message) { return fail(ErrorCode::invalid_argument, "{}", message); };
  const bool has_file = !options.file.empty() && options.file != "-";
  const bool is_subtitles = options.format == ListenFormat::srt || options.format == ListenFormat::vtt;
  const ModelFiles& files = options.models.files;
  PARLANCE_CHECK(check(files));
  if (!files.asr.empty() && !files.folder.empty()) {
    return refuse("--model and --asr both name the model; leave one out");
  }
  if (!options.microphone.empty() && !options.file.empty()) {
    return refuse("--microphone and FILE both say where sound comes from; leave one out");
  }
  if (options.is_streamed && !has_file)
    return refuse("--stream is for a FILE; other sound is streamed anyway");
  if (options.prints_partials && (options.is_recording() || options.is_vad_only)) {
    return refuse("--partials is for sound that is streamed; add --stream to a FILE");
  }
  if (options.prints_partials && is_subtitles) {
    return refuse("--partials prints lines of JSON; leave --format out");
  }
  if (options.wants_words && (!options.is_recording() || options.format != ListenFormat::json)) {
    return refuse("--words is for a recording in --format json; give a FILE without --stream");
  }
  if (options.is_vad_only && options.wants_words)
    return refuse("--vad-only recognises no words; leave --words out");
  if (!options.plot.empty() && !options.is_recording() && !options.is_vad_only) {
    return refuse("--plot draws recordings; give a FILE without --stream, or --vad-only");
  }
  if (!options.request.language.empty()) PARLANCE_CHECK(find_speech_language(options.request.language));
  return {};
}

OptionGroup model_files_group(const std::shared_ptr<ListenOptions>& options) {
  ModelChoice& models = options->models;
  ModelFiles& files = models.files;
  OptionGroup group{
      "Models",
      {model_text_option(
           "-m, --model", "FOLDER",
           "The folder with the two files of a Qwen3-ASR model, or a bundle that has them in its "
           "folder asr. Without it: the bundled demo model.",
           files.folder),
       model_text_option("--asr", "FILE", "The language model, with --mmproj instead of a folder.",
                         files.asr),
       model_text_option("--mmproj", "FILE", "The audio encoder that belongs to --asr.", files.mmproj),
       model_text_option(
           "--vad", "FILE",
           "Weights of the Silero voice detector: safetensors, GGUF, or whisper.cpp's .bin. Without "
           "it: those in the bundle's folder vad, else those that ELIZA_VAD_MODEL_PATH names.",
           files.vad),
       choice_option("--mode", "MODE",
                     "How audio is cut for the encoder: as the model was trained, or as the eliza-1 program "
                     "does, for comparing.",
                     "reference, eliza", models.recognizer.mode, parse_mode, "reference"),
       threads_option(models.devices.n_threads), device_option(models.devices.voice),
       huge_pages_option(models.devices.huge_pages)}};
  for (Option& option : cache_options(models.cache, models.recognizer.cache)) {
    group.options.push_back(std::move(option));
  }
  return group;
}

OptionGroup sound_group(ListenOptions& options) {
  return {
      "Sound",
      {text_option("--microphone", "NAME", "The microphone whose name has this in it.", options.microphone),
       flag("--list-microphones", "Show the microphones of this machine and end.", options.lists_microphones),
       flag("--stream", "Hear FILE as if it came from a microphone, as fast as it goes.",
            options.is_streamed),
       choice_option("--pcm", "FORMAT", "Format of raw samples on standard input; WAV is recognised.",
                     "u8, s16le, s24le, s32le, f32le", options.pcm.encoding, parse_pcm_encoding, "s16le"),
       number_option<int>("--rate", "HZ", "Rate of raw samples.", options.pcm.sample_rate_hz,
                          kMinSampleRateHz, kMaxSampleRateHz),
       number_option<int>("--channels", "N", "Channels of raw samples.", options.pcm.n_channels, 1,
                          kMaxChannels)}};
}

OptionGroup speech_group(ListenOptions& options) {
  constexpr double kMostMs = 60000;
  SpeechChoice& speech = options.speech;
  Option min_silence = number_option<double>("--min-silence-ms", "MS", "Silence that ends speech.",
                                             speech.min_silence_ms, 0, kMostMs);
  min_silence.fallback = "100 in recordings, 500 in what is streamed";
  Option min_speech = number_option<double>("--min-speech-ms", "MS", "What is shorter is no speech.",
                                            speech.min_speech_ms, 0, kMostMs);
  min_speech.fallback = "250";
  Option pad = number_option<double>("--pad-ms", "MS",
                                     "Sound before speech, and in recordings after it, "
                                     "that counts as part of it.",
                                     speech.pad_ms, 0, kMostMs);
  pad.fallback = "30 in recordings, 320 in what is streamed";
  return {
      "Where speech is",
      {flag("--vad-only", "Find speech, without recognising words: only the voice detector is needed.",
            options.is_vad_only),
       text_option("--plot", "FILE",
                   "Draw waveform, probability of speech and segments of a recording as SVG.", options.plot),
       number_option<double>("--threshold", "P", "Probability from which on a window is speech.",
                             speech.threshold, 0, 1),
       min_silence, min_speech, pad}};
}

OptionGroup text_group(ListenOptions& options) {
  return {"Text",
          {text_option("--language", "NAME", "Name or code of the language; without it the model finds out.",
                       options.request.language),
           text_option("--context", "TEXT", "Names, terms or the topic, which help to recognise rare words.",
                       options.request.context),
           choice_option("--format", "FORMAT", "What is printed.", "text, json, srt, vtt", options.format,
                         parse_format, "text"),
           flag("--partials", "Also print what is heard so far: one JSON object a line, partial or final.",
                options.prints_partials),
           flag("--words", "Times of words of a recording, in --format json; needs the aligner model.",
                options.wants_words)}};
}

}  // namespace

Command listen_command() {
  const auto options = std::make_shared<ListenOptions>();
  Command command;
  command.name = "listen";
  command.summary = "Turn speech into text: a recording, a pipe or the microphone.";
  command.description =
      "A FILE (WAV, FLAC, Ogg, WebM, MP3, AIFF) is transcribed as a whole. Without one the microphone is heard "
      "until "
      "Ctrl-C, and for - standard input until its end; both are transcribed while they come, a line for each "
      "stretch of speech. At a terminal the words that are being said appear at once, those that may still "
      "change dimmed.\n\n"
      "The voice detector decides what is speech in sound that is streamed and where subtitles are cut; "
      "without its weights everything is taken as speech.";
  command.examples = {
      {"parlance listen -m qwen3-asr/ talk.ogg", "a recording to text"},
      {"parlance listen -m bundle/", "the microphone, until Ctrl-C"},
      {"arecord -q -f S16_LE -r 16000 | parlance listen -m bundle/ -", "what a program records"},
      {"parlance listen -m bundle/ talk.mp3 --format srt > talk.srt", "subtitles"},
      {"parlance listen --vad-only --vad silero.bin talk.wav --plot talk.svg",
       "where somebody speaks, as a table and as a picture"}};
  command.positionals = {text_option("FILE", "FILE", "The recording; - for standard input.", options->file)};
  command.groups = {sound_group(*options), text_group(*options), speech_group(*options),
                    model_files_group(options)};
  command.check = [options] { return check_options(*options); };
  command.run = [options](Console& io) { return listen(io, *options); };
  return command;
}

}  // namespace parlance
