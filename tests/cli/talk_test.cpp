// `parlance talk`, from recordings to answers and reports, with tiny models of random weights: what they say
// means nothing, but everything takes part.
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>
#include <utility>

#include "audio/audio_file.h"
#include "audio/wav_writer.h"
#include "cli/cli_run.h"
#include "cli/talk_timeline.h"
#include "cli/talk_view.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"
#include "tts/audio/speech_format.h"
#include "tts/support/tiny_tts.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::Outcome;
using test::run;

class TalkTest : public testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("asr/bundle-tiny");
    PARLANCE_REQUIRE_FIXTURES("omnivoice/models");
    PARLANCE_REQUIRE_FIXTURES("vad/events.json");
    PARLANCE_REQUIRE_FIXTURES("../data");
    test::make_tiny_bundle(folder_);
    fs::create_directory_symlink(test::fixtures_root() / "asr" / "bundle-tiny" / "asr", folder_ / "asr");
    fs::create_directories(folder_ / "text");
    test::write_tiny_model(folder_ / "text" / "tiny.gguf");
  }

  static std::string wave(const std::string& name) {
    return (test::fixtures_root() / "vad" / (name + ".wav")).string();
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::vector<std::string> arguments_with(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {
        "talk",
        "-t",
        "2",
        "-m",
        folder_.path().string(),
        "--vad",
        (test::fixtures_root().parent_path() / "data" / "silero_vad_16k.safetensors").string(),
        "--max-tokens",
        "24",
        "--steps",
        "2",
        "--pause",
        "100"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Outcome talk(const std::vector<std::string>& more, const std::string& input = "") const {
    return run(arguments_with(more), input);
  }

  static std::vector<nlohmann::json> lines_of(const std::string& out) {
    std::vector<nlohmann::json> lines;
    std::istringstream in(out);
    for (std::string line; std::getline(in, line);) {
      lines.push_back(nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false));
      EXPECT_FALSE(lines.back().is_discarded()) << line;
    }
    return lines;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(TalkTest, AnswersEveryTurn) {
  const auto outcome = talk({wave("espeak_turns"), "--fast", "--json", "-o", path("answers.wav"), "--trace",
                             path("trace.json"), "--timeline", path("turns.svg")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto turns = lines_of(outcome.out);
  ASSERT_GE(turns.size(), 2u) << outcome.out;
  double seconds = 0;
  int n_spoken = 0;
  for (size_t i = 0; i < turns.size(); ++i) {
    EXPECT_EQ(turns[i]["turn"], i + 1);
    EXPECT_FALSE(turns[i]["question"].get<std::string>().empty());
    EXPECT_FALSE(turns[i]["interrupted"]);
    EXPECT_GE(turns[i]["drafts"], 1);
    EXPECT_EQ(turns[i]["checkpoints_ms"]["vad-speech-end"], 0);
    EXPECT_TRUE(turns[i]["checkpoints_ms"].contains("asr-final"));
    seconds += turns[i]["audio_seconds"].get<double>();
    n_spoken += turns[i]["audio_seconds"] > 0;
  }
  ASSERT_GE(n_spoken, 1);

  const auto answers = read_audio(path("answers.wav"), kSpeechRateHz);
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_NEAR(static_cast<double>(answers->samples.size()) / kSpeechRateHz, seconds + 0.4 * (n_spoken - 1),
              1e-3);

  const auto trace = nlohmann::json::parse(test::read_text(path("trace.json")));
  EXPECT_EQ(trace["turns"].size(), turns.size());
  EXPECT_EQ(trace["summary"]["heard"]["turns"], turns.size());
  const std::string svg = test::read_text(path("turns.svg"));
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST_F(TalkTest, FilesAndStandardInputAreTheSame) {
  const std::string file = wave("espeak_turns");
  const auto from_file = talk({file, "--fast", "--no-audio", "--json"});
  ASSERT_EQ(from_file.code, 0) << from_file.err;
  const auto from_input = talk({"-", "--fast", "--no-audio", "--json"}, test::read_text(file));
  ASSERT_EQ(from_input.code, 0) << from_input.err;
  const auto a = lines_of(from_file.out), b = lines_of(from_input.out);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i]["question"], b[i]["question"]);
    EXPECT_EQ(a[i]["answer"], b[i]["answer"]);
  }
}

TEST_F(TalkTest, AnswersDoNotDependOnDrafts) {
  const std::string file = wave("espeak_turns");
  const auto drafts = lines_of(talk({file, file, "--fast", "--no-audio", "--json"}).out);
  const auto none = lines_of(talk({file, file, "--fast", "--no-audio", "--json", "--no-drafts"}).out);
  ASSERT_EQ(drafts.size(), none.size());
  for (size_t i = 0; i < drafts.size(); ++i) {
    EXPECT_EQ(drafts[i]["question"], none[i]["question"]);
    EXPECT_EQ(drafts[i]["answer"], none[i]["answer"]);
  }
}

TEST_F(TalkTest, LinesForPeople) {
  const auto outcome = talk({wave("jfk"), "--fast", "--no-audio"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("you       ")) << outcome.out;
  EXPECT_NE(outcome.out.find("\nparlance  "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("ms after you stopped\n"), std::string::npos) << outcome.out;
}

TEST_F(TalkTest, SoundOnStandardOutputLeavesWordsToTheOther) {
  const auto outcome = talk({wave("jfk"), "--fast", "-o", "-"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("RIFF"));
  EXPECT_NE(outcome.err.find("you       "), std::string::npos);
}

// What people see at a terminal: words as they come, and no trace of them at the end.
TEST_F(TalkTest, LiveAtATerminal) {
  std::istringstream in;
  std::ostringstream out, err;
  Console io{.in = in, .out = out, .err = err, .out_is_terminal = true};
  const std::vector<std::string> arguments = arguments_with({wave("jfk"), "--fast", "--no-audio"});
  ASSERT_EQ(run_cli(arguments, io), 0) << err.str();
  EXPECT_NE(out.str().find("\r\x1b[Khearing   "), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("\r\x1b[Kyou       "), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("\nparlance  "), std::string::npos) << out.str();
  EXPECT_TRUE(out.str().ends_with("\r\x1b[K") || out.str().ends_with("percentile\n")) << out.str();
}

// ALSA's device of silence stands in for speaker and microphone; the note that it is open brings the
// interrupt.
TEST_F(TalkTest, SpeakerAndMicrophone) {
  std::ofstream(folder_ / "asound.conf") << "pcm.!default { type null }\n";
  ::setenv("ALSA_CONFIG_PATH", path("asound.conf").c_str(), 1);
  if (const auto list = run({"say", "--list-speakers"}); list.code == 0) {
    const auto outcome = talk({wave("jfk"), "--fast", "--speaker", "default", "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_GE(lines_of(outcome.out).size(), 1u);

    class Interrupting final : public std::stringbuf {
      int sync() override {
        if (!std::exchange(is_done_, true)) std::raise(SIGINT);
        return std::stringbuf::sync();
      }
      bool is_done_ = false;
    } notes;
    std::istringstream in;
    std::ostringstream out;
    std::ostream err(&notes);
    Console io{.in = in, .out = out, .err = err, .err_is_terminal = true};
    EXPECT_EQ(run_cli(arguments_with({}), io), 0) << notes.str();
    EXPECT_EQ(notes.str().find("listening to "), 0u) << notes.str();
  }
  ::unsetenv("ALSA_CONFIG_PATH");
}

// Somebody who asks, is silent until an answer sounds, and then asks again: samples of 16 bits at 16 kHz.
class Impatient final : public std::streambuf {
 public:
  Impatient(std::span<const float> question, const std::atomic<bool>& answer_sounds)
      : question_(bytes_of(question)), silence_(bytes_of(std::vector<float>(1600))), sounds_(answer_sounds) {}

 private:
  static std::string bytes_of(std::span<const float> samples) {
    std::string bytes;
    for (const float sample : samples) {
      const auto value = static_cast<int16_t>(std::lround(sample * 32767));
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    return bytes;
  }
  int_type underflow() override {
    constexpr int kMostSilences = 600;  // a minute
    if (n_asked_ == 2 || n_silences_ == kMostSilences) return traits_type::eof();
    const bool asks = n_asked_ == 0 || sounds_;
    std::string& bytes = asks ? question_ : silence_;
    ++(asks ? n_asked_ : n_silences_);
    setg(bytes.data(), bytes.data(), bytes.data() + bytes.size());
    return traits_type::to_int_type(bytes.front());
  }

  std::string question_, silence_;
  const std::atomic<bool>& sounds_;
  int n_asked_ = 0, n_silences_ = 0;
};

// What is played of an answer comes here when it is heard.
class Listening final : public std::stringbuf {
 public:
  explicit Listening(std::atomic<bool>& answer_sounds) : sounds_(answer_sounds) {}

 private:
  std::streamsize xsputn(const char*, std::streamsize n) override {
    constexpr std::streamsize kMoreThanHead = 1000;
    sounds_ = sounds_ || n > kMoreThanHead;
    return n;
  }
  std::atomic<bool>& sounds_;
};

// An answer that lasts for many seconds is cut off by the next question.
TEST_F(TalkTest, SpeechInterruptsAnAnswer) {
  const auto sound = read_audio(wave("espeak_turns"), 16000);
  ASSERT_TRUE(sound);
  std::atomic<bool> answer_sounds = false;
  Impatient question(std::span(sound->samples).subspan(16000 / 2, 16000 * 23 / 10), answer_sounds);
  Listening answers(answer_sounds);
  std::istream in(&question);
  std::ostream out(&answers);
  std::ostringstream err;
  Console io{.in = in, .out = out, .err = err};
  const auto arguments = arguments_with({"-", "--barge-in", "-o", "-", "--trace", path("trace.json"),
                                         "--speed", "0.8", "--end-silence", "250"});
  ASSERT_EQ(run_cli(arguments, io), 0) << err.str();
  const auto turns = nlohmann::json::parse(test::read_text(path("trace.json")))["turns"];
  ASSERT_EQ(turns.size(), 2u) << err.str();
  const auto& first = turns[0];
  EXPECT_TRUE(first["interrupted"].get<bool>()) << first;
  EXPECT_FALSE(turns[1]["interrupted"].get<bool>()) << turns[1];
  EXPECT_TRUE(first["checkpoints_ms"].contains("barge-in-trigger")) << first;
  double spoken = 0;
  for (const auto& phrase : first["phrases"]) spoken += phrase["audio_seconds"].get<double>();
  EXPECT_LE(first["audio_seconds"].get<double>(), spoken);
}

TEST_F(TalkTest, SilenceIsNoTurn) {
  std::vector<float> samples(3 * 16000);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = i % 2 == 0 ? 1e-4f : -1e-4f;
  ASSERT_TRUE(write_wav(path("silence.wav"), samples, {.sample_rate_hz = 16000}));
  const auto outcome = talk({path("silence.wav"), "--fast", "--no-audio"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("nothing that was understood as speech was heard"), std::string::npos)
      << outcome.err;
}

TEST_F(TalkTest, RefusesWhatMakesNoSense) {
  const auto refused = [&](std::vector<std::string> more, std::initializer_list<std::string> words) {
    more.insert(more.begin(), "talk");
    expect_error(run(more), 2, words);
  };
  refused({"--fast"}, {"--fast", "FILE"});
  refused({"a.wav", "--microphone", "x"}, {"--microphone", "FILE"});
  refused({"a.wav", "--fast", "--barge-in"}, {"--fast", "--barge-in"});
  refused({"a.wav", "-o", "-", "--json"}, {"--json", "-o"});
  refused({"a.wav", "-o", "x.wav", "--no-audio"}, {"--output", "--no-audio"});
  refused({"a.wav", "--end-silence", "40"}, {"--end-silence", "--pause"});
  refused({"a.wav", "--asr", "x.gguf"}, {"--mmproj"});
  refused({"a.wav", "--base", "x.gguf"}, {"--codec"});
  refused({"a.wav", "--language", "xyz"}, {"xyz"});
  expect_error(talk({"nowhere.wav"}), 1, {"nowhere.wav"});
  expect_error(run({"talk", wave("jfk"), "-m", path("nothing"), "--no-audio"}), 1, {"nothing"});
}

TEST(TalkTimeline, DrawsAnyTurns) {
  EXPECT_TRUE(talk_timeline_svg({}).ends_with("</svg>\n"));
  TurnReport report;
  report.question = "What is <this> & that?";
  report.trace.mark(Checkpoint::speech_start, 100);
  report.trace.mark(Checkpoint::speech_end, 1100);
  report.trace.mark(Checkpoint::asr_final, 1250);
  report.trace.phrases.push_back(
      {.text = "It", .emit_ms = 1300, .tts_start_ms = 1300, .tts_first_audio_ms = 1400});
  const std::vector<TurnReport> turns(100, report);
  const std::string svg = talk_timeline_svg(turns);
  EXPECT_EQ(svg.find("<this>"), std::string::npos);
  size_t n_panels = 0;
  for (size_t at = 0; (at = svg.find("&lt;this&gt; &amp;", at)) != std::string::npos; ++at) ++n_panels;
  EXPECT_EQ(n_panels, kMostDrawnTurns);
}

TEST(TalkView, TimesInWords) {
  TurnReport report;
  EXPECT_EQ(times_of(report), "");
  report.trace.mark(Checkpoint::speech_end, 1000);
  report.trace.mark(Checkpoint::pause, 1128);
  report.trace.mark(Checkpoint::asr_final, 1159);
  report.trace.mark(Checkpoint::phrase_emit, 1183);
  report.trace.mark(Checkpoint::tts_first_audio, 1293);
  report.trace.mark(Checkpoint::audio_first_played, 1353);
  EXPECT_EQ(times_of(report),
            "heard 31 ms, thought 24 ms, spoke 110 ms; first audio 353 ms after you stopped");
}

}  // namespace
}  // namespace parlance
