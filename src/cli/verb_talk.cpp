// parlance talk: a conversation by voice, with a microphone and a speaker or with recordings.
#include <chrono>
#include <memory>
#include <utility>

#include "asr/languages.h"
#include "assistant/voice_session.h"
#include "base/os/file.h"
#include "cli/demo_note.h"
#include "cli/echo_free_source.h"
#include "cli/open_text.h"
#include "cli/talk_options.h"
#include "cli/talk_output.h"
#include "cli/talk_timeline.h"
#include "cli/talk_view.h"
#include "cli/terminal/interrupt.h"
#include "cli/verbs.h"

namespace parlance {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostPauseMs = 5000;
constexpr double kEndSilenceMs = 350;  // where sound comes faster than it can be judged

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The view, and an end to each answer in the file.
class Observer final : public TalkObserver {
 public:
  Observer(TalkView& view, AnswerOutput& output) : view_(view), output_(output) {}

  void on_state(TalkState state) override { view_.on_state(state); }
  void on_hearing(const Hearing& hearing) override { view_.on_hearing(hearing); }
  void on_question(std::string_view question) override { view_.on_question(question); }
  void on_answer(std::string_view text) override { view_.on_answer(text); }
  void on_turn(const TurnReport& report) override {
    view_.on_turn(report);
    if (report.n_samples > 0) output_.end_answer();
  }

 private:
  TalkView& view_;
  AnswerOutput& output_;
};

Result<std::vector<std::unique_ptr<SoundSource>>> open_files(const Console& io, const TalkChoice& choice) {
  std::vector<std::unique_ptr<SoundSource>> sources;
  for (const std::string& file : choice.files) {
    if (file == "-") {
      sources.push_back(open_standard_input(io.in, choice.pcm));
    } else {
      PARLANCE_TRY(auto source, open_recording(file));
      sources.push_back(std::move(source));
    }
  }
  return sources;
}

// `loudspeaker`: what answers are played on, beside the microphone; null: nothing is to be heard.
Result<std::unique_ptr<SoundSource>> open_ears(const Console& io, const TalkChoice& choice,
                                               Speaker* loudspeaker, std::function<bool()> is_over) {
  std::string name;
  PARLANCE_TRY(auto source, open_microphone_source(choice.microphone, std::move(is_over), name));
  const bool is_at_risk = loudspeaker && !choice.removes_echo && !choice.is_half_duplex;
  if (io.err_is_terminal) {
    io.note(fmt::format("listening to {}; Ctrl-C ends{}", name,
                        is_at_risk ? "; near a loudspeaker, add --half-duplex" : ""));
  }
  if (!loudspeaker || !choice.removes_echo || choice.is_half_duplex) return source;
  PlayedSound played{.sample_rate_hz = loudspeaker->sample_rate_hz(),
                     .take = [loudspeaker](std::span<float> out) { return loudspeaker->read_played(out); }};
  return without_echo(std::move(source), std::move(played));
}

SourceManner manner_of(const TalkChoice& choice) {
  if (choice.hears_microphone()) return {.is_paced = false, .is_polite = choice.is_half_duplex};
  return {.is_paced = !choice.is_fast, .is_polite = !choice.wants_barge_in};
}

Result<void> write_text(const std::string& path, const std::string& text) {
  PARLANCE_TRY(AtomicFile file, AtomicFile::create(path));
  PARLANCE_CHECK(file.write(text));
  return file.commit();
}

// Where each part of a conversation runs; all regions are acquired.
Json devices_of(const Regions& regions) {
  const auto name = [](const Device& device) { return std::string(device.name()); };
  const auto text = regions.text.acquired();
  const auto asr = regions.asr.acquired();
  const auto tts = regions.tts.acquired();
  return Json::object({{"hearing", name(*asr->device)},
                       {"thinking", name(text->device())},
                       {"speaking", name(*tts->device)},
                       {"codec", name(*tts->codec_device)},
                       {"voice_detector", "cpu"}});
}

Result<void> write_traces(const TalkChoice& choice, const std::vector<TurnReport>& turns,
                          const Json& devices) {
  if (!choice.trace_file.empty()) {
    PARLANCE_CHECK(write_text(choice.trace_file, trace_json(turns, devices).pretty() + "\n"));
  }
  if (!choice.timeline_file.empty()) {
    PARLANCE_CHECK(write_text(choice.timeline_file, talk_timeline_svg(turns)));
  }
  return {};
}

Result<int> talk(const Console& console, const TalkChoice& choice) {
  // Sound on standard output leaves no room for words there.
  Console words{.in = console.in, .out = console.err, .err = console.err};
  words.out_is_terminal = words.err_is_terminal = console.err_is_terminal;
  words.out_has_colour = words.err_has_colour = console.err_has_colour;
  words.width = console.width;
  const Console& io = choice.output == "-" ? words : console;

  const auto start = Clock::now();
  const TalkClock clock = [start] { return ms_since(start); };
  PARLANCE_TRY(auto sources, open_files(io, choice));
  PARLANCE_TRY(AnswerOutput output, AnswerOutput::open(console, choice, clock));
  VoiceSessionOptions options;
  options.language = choice.language;
  options.voice = choice.voice;
  options.filler = choice.filler;
  options.mouth = {.manner = choice.manner, .first_steps = choice.first_steps};
  options.mind = {
      .system = choice.system, .has_thinking = choice.has_thinking, .generate = choice.answer.generate};
  options.mind.generate.sampling.seed = seed_of(choice.answer);
  options.talk.drafts_answers = !choice.makes_no_drafts;
  options.turns.pause_hangover_ms = choice.pause_ms;
  if (choice.end_silence_ms || choice.is_fast) {
    options.turns.end_hangover_ms = choice.end_silence_ms.value_or(kEndSilenceMs);
  } else {
    options.talk.turn_end = TurnEndOptions{};
  }
  Regions regions(choice.models, warnings_to(io));
  PARLANCE_TRY(const auto session, VoiceSession::open(regions, options, clock));
  const double load_ms = clock();
  const Json devices = devices_of(regions);

  const InterruptGuard guard;
  if (choice.hears_microphone()) {
    const auto is_over = [&] { return guard.interrupted() || session->inbox().is_closed(); };
    PARLANCE_TRY(auto microphone, open_ears(io, choice, output.loudspeaker(), is_over));
    sources.push_back(std::move(microphone));
  }
  TalkView view(io, choice.wants_json, devices);
  Observer observer(view, output);
  session->listen_to(std::move(sources), manner_of(choice));
  if (io.err_is_terminal) io.note(fmt::format("ready after {:.0f} ms", load_ms));
  note_small_models(io, choice.models.files);
  PARLANCE_CHECK(session->run(output.playback(), observer, guard.ticket()));

  view.finish();
  PARLANCE_CHECK(output.finish());
  if (!choice.output.empty() && io.err_is_terminal) {
    io.note(fmt::format("the answers are in {}", choice.output == "-" ? "standard output" : choice.output));
  }
  PARLANCE_CHECK(write_traces(choice, view.turns(), devices));
  if (session->n_lost() > 0) {
    io.warn(fmt::format("sound was lost {} times, as nobody came to take it; use smaller models",
                        session->n_lost()));
  }
  if (view.turns().empty() && !choice.hears_microphone() && !guard.interrupted()) {
    io.warn(
        "nothing that was understood as speech was heard; 'parlance listen --vad-only FILE' shows where "
        "speech is");
  }
  // Ctrl-C is how a conversation with a microphone ends.
  return guard.interrupted() && !choice.hears_microphone() ? kInterrupted : kSuccess;
}

Result<void> check_options(TalkChoice& choice) {
  const auto refuse = [](const char* message) { return fail(ErrorCode::invalid_argument, "{}", message); };
  PARLANCE_CHECK(check(choice.models.files));
  PARLANCE_CHECK(check_answer(choice.answer));
  PARLANCE_CHECK(choice.quality.apply(choice.manner));
  if (!choice.microphone.empty() && !choice.files.empty()) {
    return refuse("--microphone and FILE both say where sound comes from; leave one out");
  }
  if (choice.is_fast && choice.files.empty())
    return refuse("--fast is for FILEs; a microphone has its own pace");
  if (choice.is_fast && choice.wants_barge_in) {
    return refuse("--fast leaves no time to interrupt anything; leave --barge-in out");
  }
  if (choice.wants_barge_in && choice.is_half_duplex) {
    return refuse("--barge-in and --half-duplex are opposites; leave one out");
  }
  if (choice.output == "-" && choice.wants_json) {
    return refuse("--json and -o - both write to standard output; give a FILE");
  }
  const int n_outputs = !choice.output.empty() + !choice.speaker.empty() + choice.is_silent;
  if (n_outputs > 1) {
    return refuse("--output, --speaker and --no-audio each say where answers go; give one of them");
  }
  if (choice.end_silence_ms.value_or(choice.pause_ms) < choice.pause_ms) {
    return refuse("--end-silence is shorter than --pause; a turn ends after a pause");
  }
  if (!choice.language.empty()) PARLANCE_CHECK(find_speech_language(choice.language));
  return {};
}

std::optional<bool> on_or_off_from_name(std::string_view name) {
  if (name == "on") return true;
  if (name == "off") return false;
  return std::nullopt;
}

OptionGroup hearing_group(TalkChoice& choice) {
  return {
      "Hearing",
      {text_option("--microphone", "NAME", "The microphone whose name has this in it.", choice.microphone),
       flag("--half-duplex",
            "Do not listen to the microphone while an answer is played: where the echo of loudspeakers "
            "cannot be taken out.",
            choice.is_half_duplex),
       choice_option("--echo-cancel", "WHETHER",
                     "Take the loudspeaker's sound out of the microphone's, so that an answer can be "
                     "interrupted; off is for headsets, and for systems that do it themselves.",
                     "on, off", choice.removes_echo, on_or_off_from_name, "on"),
       flag("--barge-in",
            "Let recordings go on while an answer is played, and interrupt it, as a person can.",
            choice.wants_barge_in),
       flag("--fast", "Hear recordings as fast as they can be worked on, not at their own pace.",
            choice.is_fast),
       number_option<double>(
           "--end-silence", "MS",
           "Silence that ends a turn. Without it: 120 to 900 ms, by how likely the language "
           "model finds it that nothing more comes.",
           choice.end_silence_ms, 32.0, kMostPauseMs),
       number_option<double>("--pause", "MS", "Silence after which an answer is made in advance.",
                             choice.pause_ms, 32.0, kMostPauseMs),
       text_option("--language", "NAME", "Name or code of the language; without it the models find out.",
                   choice.language)}};
}

OptionGroup speaking_group(TalkChoice& choice) {
  Option first = number_option<int>("--first-steps", "N",
                                    "The same for an answer's first phrase, which is awaited. 0: as many.",
                                    choice.first_steps, 0, 1000);
  const std::vector<Option> quality = quality_options(choice.quality, "standard");
  return {
      "Speaking",
      {text_option(
           "-o, --output", "FILE",
           "Write all answers as one WAV to FILE, or to standard output for -; at a terminal and with a "
           "microphone they are played otherwise.",
           choice.output),
       choice_option("--format", "FORMAT", "Samples of the WAV.", "s16, s24, f32", choice.encoding,
                     parse_wav_encoding, "s16"),
       text_option("--speaker", "NAME", "The speaker whose name has this in it.", choice.speaker),
       flag("--no-audio", "Neither play nor write answers; they are computed all the same.",
            choice.is_silent),
       text_option("--voice", "VOICE",
                   "A voice of the bundle by its id, or a file: a preset (.bin) or codes (.rvq).",
                   choice.voice),
       choice_option("--filler", "WHEN",
                     "Say something short at once, such as \"one sec\": when somebody begins to speak, or "
                     "when a turn has ended whose answer is not there yet. With a headset.",
                     "never, speech-start, turn-end", choice.filler, filler_moment_from_name, "never"),
       text_option("--instruct", "WORDS",
                   "The voice in words, separated by commas: \"female, low pitch, british accent\".",
                   choice.manner.instruct),
       number_option<float>("--speed", "X", "Faster or slower.", choice.manner.speed, 0.1f, 10.0f),
       quality[0], quality[1], first,
       number_option<float>("--guidance", "X",
                            "How closely speech keeps to text and voice; 0 halves the work.",
                            choice.manner.decoding.guidance, -100.0f, 100.0f)}};
}

OptionGroup conversation_group(TalkChoice& choice) {
  return {"Conversation",
          {text_option("--system", "TEXT", "What the model is told before the conversation.", choice.system),
           flag("--thinking", "Let a model that can think before it answers.", choice.has_thinking),
           flag("--no-drafts", "Make no answer before the turn has ended.", choice.makes_no_drafts)}};
}

OptionGroup output_group(TalkChoice& choice) {
  return {"Output",
          {json_option(choice.wants_json, "Print one JSON object a line for each turn."),
           text_option("--trace", "FILE", "Write all times of all turns, with percentiles, as JSON.",
                       choice.trace_file),
           text_option("--timeline", "FILE", "Draw them as SVG: who worked when.", choice.timeline_file)}};
}

OptionGroup models_group(Choice& models) {
  ModelFiles& files = models.files;
  Option device = device_option(models.devices.text);
  device.help =
      "Where all models run but the voice detector, which is on the processors: cpu, vulkan, cuda, or one of "
      "several such as cuda:1.";
  return {
      "Models",
      {model_text_option(
           "-m, --model", "FOLDER",
           "A bundle with a language model (text), a recogniser (asr), a synthesizer (tts), a voice "
           "detector (vad) and voices (cache). Without it: the bundled demo.",
           files.folder),
       model_text_option("--text", "FILE", "Another language model.", files.text),
       model_text_option("--asr", "FILE", "Another recogniser, with --mmproj.", files.asr),
       model_text_option("--mmproj", "FILE", "The audio encoder that belongs to --asr.", files.mmproj),
       model_text_option("--base", "FILE", "Another synthesizer, with --codec.", files.base),
       model_text_option("--codec", "FILE", "The codec that belongs to --base.", files.codec),
       model_text_option("--vad", "FILE", "Another voice detector.", files.vad),
       threads_option(models.devices.n_threads), device, voice_device_option(models.devices.voice),
       huge_pages_option(models.devices.huge_pages), widened_weights_option(models.devices.widened_weights)}};
}

}  // namespace

Command talk_command() {
  const auto choice = std::make_shared<TalkChoice>();
  suit_conversation(choice->models);
  choice->quality.quality = SpeechQuality::standard;
  choice->answer.generate.sampling.temperature = 0;
  Command command;
  command.name = "talk";
  command.summary = "Talk with a model by voice: it listens, thinks and speaks.";
  command.description =
      "Without FILE this is a conversation with microphone and speaker: speak, stop, and hear the answer; "
      "speak "
      "into it, and it stops. Ctrl-C ends.\n\n"
      "FILEs (WAV, FLAC, Ogg, WebM, MP3, AIFF; - for standard input) are heard as if somebody spoke them "
      "now, one "
      "after the other, who waits for each answer. Every turn shows how long everything took: to hear it "
      "(after a short pause), to think of the first phrase, to speak it, and from the end of speech to the "
      "first sound of the answer.";
  command.examples = {
      {"parlance talk", "with microphone and speaker, and the demo models"},
      {"parlance talk question.wav -o answer.wav", "a recording, answered in a file"},
      {"parlance talk -m bundle/ --half-duplex", "not listening while an answer is played"},
      {"parlance talk --asr hf:ggml-org/Qwen3-ASR-0.6B-GGUF --text hf:Qwen/Qwen3-0.6B-GGUF:Q8_0",
       "with ears for real voices and a real language model; the voice is the demo's"},
      {"parlance talk *.wav --no-audio --json --timeline turns.svg",
       "times of many turns, and a picture of them"}};
  Option files{.names = "FILE",
               .value = "FILE",
               .help = "Recordings; - for standard input (WAV, or raw 16-bit samples, 16 kHz, mono).",
               .fallback = {},
               .set = {},
               .repeatable = true};
  files.set = [choice](const std::string& file) -> Result<void> {
    choice->files.push_back(file);
    return {};
  };
  command.positionals = {files};
  command.groups = {hearing_group(*choice),       speaking_group(*choice),        conversation_group(*choice),
                    answer_group(choice->answer), sampling_group(choice->answer), output_group(*choice),
                    models_group(choice->models)};
  command.check = [choice] { return check_options(*choice); };
  command.run = [choice](Console& io) { return talk(io, *choice); };
  return command;
}

}  // namespace parlance
