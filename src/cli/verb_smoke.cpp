// parlance smoke: whether the C library, loaded as programs load it, does its work on a bundle.
#include <filesystem>
#include <memory>

#include "assistant/default_model.h"
#include "base/os/environment.h"
#include "base/os/file.h"
#include "base/os/folder.h"
#include "cli/terminal/options.h"
#include "cli/terminal/units.h"
#include "cli/verbs.h"
#include "measure/voice_smoke.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

struct SmokeOptions {
  std::string what;
  std::string library;
  std::string report;
  VoiceSmokeOptions voice;
};

// The library that was named, else that of this program: beside it, or where a build or an installation has
// it.
Result<fs::path> find_library(const std::string& given) {
  constexpr const char* kName = "libelizainference.so";
  if (!given.empty()) return fs::path(given);
  const fs::path program = program_folder();
  std::string places;
  for (const fs::path& folder : {program, program / "../lib", program / ".." / PARLANCE_LIBRARY_FOLDER}) {
    const fs::path path = absolute_path(folder / kName);
    if (is_file(path)) return path;
    if (places.find(path.string()) == std::string::npos)
      places += (places.empty() ? "" : ", ") + path.string();
  }
  return fail(ErrorCode::not_found,
              "there is no C library at {}; build it with 'make lib', or name one with --library", places);
}

Result<std::string> find_bundle(const std::string& given) {
  if (!given.empty()) return given;
  const fs::path demo = find_demo_bundle();
  if (!demo.empty()) return demo.string();
  return fail(ErrorCode::not_found,
              "there is no models/demo near this folder or the program; name a bundle with "
              "--bundle");
}

void print_smoke(const Console& io, const VoiceSmokeOptions& options, const VoiceSmoke& smoke) {
  io.print("{}, ABI {}: created in {:.1f} ms, speech model in {:.0f} ms\n", options.library.string(),
           smoke.abi_version.empty() ? "unknown" : smoke.abi_version, smoke.create_ms, smoke.acquire_ms);
  if (smoke.first_audio_ms) {
    io.print(
        "{:.2f} s of speech in {:.0f} ms ({:.2f} of real time), the first sound after {:.0f} ms, {} chunks\n",
        smoke.seconds(), smoke.total_ms, smoke.real_time_factor(), *smoke.first_audio_ms, smoke.n_chunks);
  }
  if (smoke.cancel && options.cancel_mode != CancelMode::after) {
    io.print("cancelled {}: over after {:.1f} ms, {} chunks had come\n", name_of(options.cancel_mode),
             smoke.cancel->latency_ms, smoke.cancel->n_chunks);
  } else if (smoke.cancel) {
    io.print("cancelled afterwards: the same text again ended with {}\n", smoke.cancel->status);
  }
}

Result<int> smoke_voice(Console& io, const SmokeOptions& options) {
  VoiceSmokeOptions voice = options.voice;
  std::optional<AtomicFile> report;  // before the work, so that nothing is lost where it cannot be written
  if (!options.report.empty() && options.report != "-") {
    PARLANCE_TRY(report, AtomicFile::create(options.report));
  }
  PARLANCE_TRY(voice.bundle, find_bundle(voice.bundle));
  VoiceSmoke smoke;
  if (auto library = find_library(options.library)) {
    voice.library = *std::move(library);
    smoke = run_voice_smoke(voice);
  } else {
    smoke.error = library.error().message;
  }
  const std::string text = to_json(voice, smoke).pretty() + "\n";
  if (report) {
    PARLANCE_CHECK(report->write(text));
    PARLANCE_CHECK(report->commit());
  }
  if (options.report == "-") {
    io.write(text);
  } else if (smoke.has_passed()) {
    print_smoke(io, voice, smoke);
  }
  if (smoke.has_passed()) return kSuccess;
  io.error(smoke.error);
  return kFailure;
}

Result<void> check_options(const SmokeOptions& options) {
  if (options.what != "voice")
    return fail(ErrorCode::invalid_argument, "'{}' cannot be tried out; give voice", options.what);
  if (!options.voice.text.empty()) return {};
  return fail(ErrorCode::invalid_argument, "--text is empty; give something to say");
}

}  // namespace

Command smoke_command() {
  const auto options = std::make_shared<SmokeOptions>();
  VoiceSmokeOptions& voice = options->voice;
  Command command;
  command.name = "smoke";
  command.summary = "Try out the C library: load it and have it speak.";
  command.description =
      "voice loads libelizainference as programs do, opens a bundle, has it speak a sentence as a stream, "
      "and "
      "checks what came: sound that is one, chunks in their order, one last call. With --cancel-mode the "
      "same "
      "sentence is cancelled then.\n\n"
      "The exit code is 0 when all is as it should be, 1 when it is not, and 2 for a mistake in the command "
      "line. The report is written in either of the first two cases.";
  command.examples = {{"parlance smoke voice --bundle models/demo", "the library beside this program"},
                      {"parlance smoke voice --library /usr/lib/libelizainference.so --bundle b/ "
                       "--cancel-mode during --report smoke.json",
                       "an installed one, cancelled halfway to its first sound, with a report for programs"}};
  Option what = text_option("WHAT", "WHAT", "voice.", options->what);
  what.required = true;
  command.positionals = {what};
  command.groups = {
      {"Library",
       {text_option(
            "--library", "FILE",
            "The library. Without it: libelizainference.so beside this program, or where an installation "
            "has it.",
            options->library),
        text_option("--bundle", "FOLDER", "The bundle. Without it: the bundled demo.", voice.bundle)}},
      {"Speech",
       {text_option("--text", "TEXT", "What is said.", voice.text),
        text_option("--voice", "ID", "Who says it: a voice of the bundle.", voice.voice),
        number_option("--maskgit-steps", "N", "Passes of the speech network, as ELIZA_TTS_MASKGIT_STEPS.",
                      voice.maskgit_steps, int64_t{1}, int64_t{64}),
        number_option("--chunk-threshold-sec", "S",
                      "Length from which on a text has several parts, as ELIZA_TTS_CHUNK_THRESHOLD_SEC.",
                      voice.chunk_threshold_seconds, 0.001, 120.0),
        number_option("--chunk-duration-sec", "S", "How long these are, as ELIZA_TTS_CHUNK_DURATION_SEC.",
                      voice.chunk_duration_seconds, 0.001, 120.0),
        number_option("--warmup-runs", "N", "Speak N times before times are taken.", voice.n_warm_up, 0,
                      1000)}},
      {"Cancel",
       {choice_option(
           "--cancel-mode", "MODE",
           "none; before: ahead of the call, which has to end at once; during: from another thread, "
           "halfway to the first sound; after: the next call has to be as good as ever.",
           "none, before, during, after", voice.cancel_mode, cancel_mode_from_name, "none")}},
      {"Output",
       {text_option("--report", "FILE",
                    "Write a report as JSON; to standard output, in place of the text for people, for -.",
                    options->report)}}};
  command.check = [options] { return check_options(*options); };
  command.run = [options](Console& io) { return smoke_voice(io, *options); };
  return command;
}

}  // namespace parlance
