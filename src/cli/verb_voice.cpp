// parlance voice: voices of recordings as files, and what is in them.
#include <algorithm>
#include <memory>

#include "assistant/model_files.h"
#include "assistant/regions.h"
#include "assistant/speech.h"
#include "cli/speech_models.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/terminal/table.h"
#include "cli/verbs.h"
#include "json/json.h"
#include "tts/files/rvq_file.h"

namespace parlance {

namespace {

namespace fs = std::filesystem;

// How many codebooks the codes of an .rvq file are of, which does not say so; every OmniVoice codec has as
// many.
constexpr int64_t kCodebooks = 8;

struct VoiceOptions {
  std::string what;  // encode, show, list
  std::string file;
  std::string out;
  std::string text, instruct;
  double reference_seconds = 0;
  bool wants_json = false;
  Choice models;
};

double seconds_of(const AudioCodes& codes) {
  return static_cast<double>(codes.n_frames()) / kFramesPerSecond;
}

Result<void> write_voice(const fs::path& path, const Voice& voice) {
  if (path.extension() == ".rvq") return write_rvq(path, voice.reference);
  return write_voice_preset(path, {.speaker_embedding = {},
                                   .phrases = {},
                                   .reference = voice.reference,
                                   .reference_text = voice.reference_text,
                                   .instruct = voice.instruct,
                                   .metadata = {}});
}

Result<int> encode(const Console& io, const VoiceOptions& options) {
  Choice models = options.models;
  models.devices.huge_pages = false;  // one pass of the codec is not worth moving weights
  Regions regions(models);
  PARLANCE_TRY(auto region, regions.tts.acquire());
  const InterruptGuard guard;
  const bool has_words = fs::path(options.out).extension() != ".rvq";
  const Narrator narrator(
      std::move(region),
      has_words ? hear_with([&regions] { return regions.asr.acquire(); }) : HearReference(),
      [&](const std::string& words) {
        if (has_words) io.note(words);
      });
  PARLANCE_TRY(Voice voice, narrator.voice({.name = {},
                                            .recording = options.file,
                                            .recording_text = options.text,
                                            .reference_seconds = options.reference_seconds,
                                            .ends_quiet = true},
                                           guard.ticket()));
  voice.instruct = options.instruct;
  PARLANCE_CHECK(write_voice(options.out, voice));
  if (options.wants_json) {
    io.print("{}\n", Json::object({{"file", options.out},
                                   {"frames", voice.reference.n_frames()},
                                   {"seconds", seconds_of(voice.reference)},
                                   {"rms", static_cast<double>(voice.rms.value_or(0))},
                                   {"reference_text", voice.reference_text},
                                   {"instruct", voice.instruct}})
                         .pretty());
  } else {
    io.print("{}: {:.1f} s of speech in {} frames\n", printable(options.out), seconds_of(voice.reference),
             voice.reference.n_frames());
  }
  return kSuccess;
}

// The bundle whose voices are meant.
Result<fs::path> bundle_of(const VoiceOptions& options) {
  const fs::path bundle = find_voices(options.models.files);
  if (!bundle.empty()) return bundle;
  return fail(ErrorCode::invalid_argument,
              "which bundle? name its folder with --model FOLDER, or a voice's file");
}

Result<VoicePreset> read_any(const VoiceOptions& options) {
  const fs::path path = options.file;
  if (path.extension() == ".rvq") {
    VoicePreset preset;
    PARLANCE_TRY(preset.reference, read_rvq(path, kCodebooks));
    return preset;
  }
  std::error_code ec;
  if (path.has_parent_path() || path.extension() == ".bin" || fs::exists(path, ec))
    return read_voice_preset(path);
  PARLANCE_TRY(const fs::path bundle, bundle_of(options));
  return find_voice_preset(bundle, options.file);
}

Result<int> show(const Console& io, const VoiceOptions& options) {
  PARLANCE_TRY(const VoicePreset preset, read_any(options));
  if (options.wants_json) {
    Json phrases = Json::array();
    for (const SpokenPhrase& phrase : preset.phrases) phrases.push(phrase.text);
    io.print("{}\n", Json::object({{"file", options.file},
                                   {"version", preset.version},
                                   {"codebooks", preset.reference.n_codebook},
                                   {"frames", preset.reference.n_frames()},
                                   {"seconds", seconds_of(preset.reference)},
                                   {"reference_text", preset.reference_text},
                                   {"instruct", preset.instruct},
                                   {"speaker_embedding", preset.speaker_embedding.size()},
                                   {"phrases", phrases},
                                   {"metadata", preset.metadata}})
                         .pretty());
    return kSuccess;
  }
  Table table({{"voice", Table::Align::left}, {printable(options.file), Table::Align::left}});
  const auto add = [&](const char* name, const std::string& value) {
    table.add({name, value.empty() ? "-" : printable(value)});
  };
  const bool has_codes = !preset.reference.empty();
  add("reference", has_codes ? fmt::format("{:.1f} s in {} frames of {} codes", seconds_of(preset.reference),
                                           preset.reference.n_frames(), preset.reference.n_codebook)
                             : "none: the model chooses the voice");
  add("words in it", preset.reference_text);
  add("voice in words", preset.instruct);
  add("phrases", preset.phrases.empty() ? "" : std::to_string(preset.phrases.size()));
  add("metadata", preset.metadata);
  io.write(table.text(io));
  return kSuccess;
}

Result<int> list(const Console& io, const VoiceOptions& options) {
  PARLANCE_TRY(const fs::path bundle, bundle_of(options));
  const std::vector<std::string> ids = list_voice_presets(bundle);
  if (options.wants_json) {
    Json json = Json::array();
    for (const std::string& id : ids) json.push(id);
    io.print("{}\n", json.pretty());
    return kSuccess;
  }
  for (const std::string& id : ids) io.print("{}\n", id);
  if (ids.empty()) io.note(fmt::format("{} has no voices in its folder cache", bundle.string()));
  return kSuccess;
}

Result<void> check_options(const VoiceOptions& options) {
  const auto refuse = [](const char* message) { return fail(ErrorCode::invalid_argument, "{}", message); };
  PARLANCE_CHECK(check_speech_models(options.models));
  if (options.what == "list") {
    return options.file.empty() ? Result<void>()
                                : refuse("list shows all voices of the bundle; leave FILE out");
  }
  if (options.what != "encode" && options.what != "show") {
    return fail(ErrorCode::invalid_argument, "'{}' cannot be done to voices; give encode, show or list",
                options.what);
  }
  if (options.file.empty()) return refuse("FILE is missing");
  if (options.what == "show") return {};
  const std::string ending = fs::path(options.out).extension().string();
  if (ending != ".bin" && ending != ".rvq") {
    return refuse("-o names the file to write, a preset (NAME.bin) or codes (NAME.rvq)");
  }
  if (ending == ".rvq" && (!options.text.empty() || !options.instruct.empty())) {
    return refuse("an .rvq file has no place for words; write a preset, NAME.bin");
  }
  return {};
}

}  // namespace

Command voice_command() {
  const auto options = std::make_shared<VoiceOptions>();
  Command command;
  command.name = "voice";
  command.summary = "Keep the voice of a recording in a file; show such files.";
  command.description =
      "encode turns a recording into the codes by which 'parlance say' speaks like it: a preset with its "
      "words, or "
      "codes alone. show prints what is in a preset, or in a voice of the bundle by its id; list prints "
      "these ids. A "
      "preset becomes a voice of a bundle as cache/voice-preset-ID.bin.";
  command.examples = {{"parlance voice encode me.wav --ref-text \"What I say there.\" -o "
                       "bundle/cache/voice-preset-me.bin -m bundle/",
                       "a voice called me"},
                      {"parlance voice show bundle/cache/voice-preset-me.bin", "what is in it"},
                      {"parlance voice list -m bundle/", "all of them"}};
  Option what = text_option("WHAT", "WHAT", "encode, show or list.", options->what);
  what.required = true;
  command.positionals = {what, text_option("FILE", "FILE", "The recording, or the voice.", options->file)};
  command.groups = {
      {"Voice",
       {text_option("-o, --output", "FILE", "What encode writes: NAME.bin or NAME.rvq.", options->out),
        text_option(
            "--ref-text", "TEXT",
            "The words in the recording. Without it: what the bundle's recogniser hears, which is shown.",
            options->text),
        number_option<double>("--reference-seconds", "S",
                              "Cut a longer recording behind a word, and its words with it. 0: keep all.",
                              options->reference_seconds, 0.0,
                              static_cast<double>(Synthesizer::kMostReferenceSeconds)),
        text_option("--instruct", "WORDS", "The voice in words, kept in a preset: \"female, low pitch\".",
                    options->instruct),
        json_option(options->wants_json)}},
      say_model_group(options->models)};
  command.check = [options] { return check_options(*options); };
  command.run = [options](Console& io) {
    if (options->what == "encode") return encode(io, *options);
    return options->what == "show" ? show(io, *options) : list(io, *options);
  };
  return command;
}

}  // namespace parlance
