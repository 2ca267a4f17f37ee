// `parlance listen`, from its arguments to what it prints, with a tiny recogniser of random weights.
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <utility>

#include "asr/support/tiny_aligner.h"
#include "audio/wav_writer.h"
#include "cli/cli_run.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::Outcome;
using test::run;

constexpr int kRate = 16000;

class ListenTest : public testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("asr/bundle-tiny");
    PARLANCE_REQUIRE_FIXTURES("vad/events.json");
    PARLANCE_REQUIRE_FIXTURES("../data");
    unsetenv("ELIZA_VAD_MODEL_PATH");
  }

  static fs::path vad_file() {
    return test::fixtures_root().parent_path() / "data" / "silero_vad_16k.safetensors";
  }
  static std::string wave(const std::string& name) {
    return (test::fixtures_root() / "vad" / (name + ".wav")).string();
  }

  // With the tiny model.
  static Outcome listen(std::vector<std::string> more, const std::string& input = "") {
    std::vector<std::string> arguments = {"listen", "-t", "2", "-m",
                                          (test::fixtures_root() / "asr" / "bundle-tiny").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, input);
  }
  // And the voice detector's weights.
  static Outcome listen_for_turns(std::vector<std::string> more, const std::string& input = "") {
    more.insert(more.end(), {"--vad", vad_file().string()});
    return listen(more, input);
  }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }
  std::string write_samples(const std::string& name, const std::vector<float>& samples) const {
    const fs::path path = folder_ / name;
    EXPECT_TRUE(write_wav(path, samples, {.sample_rate_hz = kRate}).has_value());
    return path.string();
  }

  const test::TemporaryFolder folder_;
};

// The text of each segment.
std::vector<std::string> texts(const nlohmann::json& json) {
  std::vector<std::string> all;
  for (const auto& segment : json["segments"]) all.push_back(segment["text"]);
  return all;
}

TEST_F(ListenTest, HearsTheSameFromFileStreamAndStandardInput) {
  const std::string file = wave("espeak_turns");
  const auto whole = listen({file, "--format", "json"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_EQ(whole.err, "");
  const auto json = whole.json();
  EXPECT_NE(json["text"], "");
  EXPECT_EQ(json["audio_seconds"], 9.268);
  EXPECT_GT(json["processing_seconds"], 0);
  EXPECT_GT(json["real_time_factor"], 0);
  EXPECT_EQ(json["model"], "tiny-f32 text decoder (random weights)");
  EXPECT_EQ(json["encoder"], "eliza-1-asr-mmproj");
  ASSERT_EQ(json["segments"].size(), 1u);
  EXPECT_EQ(json["segments"][0]["start"], 0.0);
  EXPECT_EQ(json["segments"][0]["end"], json["audio_seconds"]);
  EXPECT_TRUE(json["segments"][0]["complete"].is_boolean());

  const auto streamed = listen({file, "--stream", "--format", "json"});
  ASSERT_EQ(streamed.code, 0) << streamed.err;
  EXPECT_NE(streamed.err.find("--vad FILE"), std::string::npos) << streamed.err;
  EXPECT_EQ(streamed.json()["text"], json["text"]);

  const std::string bytes = test::read_text(file);
  const auto piped = listen({"-", "--format", "json"}, bytes);
  ASSERT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.json()["text"], json["text"]);
  EXPECT_FALSE(piped.json().contains("real_time_factor"));

  const auto raw = listen({"-", "--pcm", "s16le", "--rate", "16000", "--format", "json"}, bytes.substr(44));
  ASSERT_EQ(raw.code, 0) << raw.err;
  EXPECT_EQ(raw.json()["text"], json["text"]);
}

TEST_F(ListenTest, TurnsAreFoundAlikeInFileAndPipe) {
  const auto streamed = listen_for_turns({wave("jfk"), "--stream", "--format", "json"});
  ASSERT_EQ(streamed.code, 0) << streamed.err;
  EXPECT_EQ(streamed.err, "");
  const auto json = streamed.json();
  ASSERT_EQ(json["segments"].size(), 4u);
  double end = 0;
  for (const auto& segment : json["segments"]) {
    EXPECT_GE(segment["start"], end);
    EXPECT_GT(segment["end"], segment["start"]);
    end = segment["end"];
  }
  EXPECT_LE(end, 11.0);
  EXPECT_NEAR(json["segments"][0]["start"], 0.32, 0.1);

  const auto piped = listen_for_turns({"-", "--format", "json"}, test::read_text(wave("jfk")));
  ASSERT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.json()["segments"], json["segments"]);
}

TEST_F(ListenTest, EachTurnIsALineWithItsTime) {
  const auto outcome = listen_for_turns({wave("jfk"), "--stream"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("[0:00.3] "), 0u) << outcome.out;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);
  EXPECT_EQ(outcome.out.find('\r'), std::string::npos);
}

TEST_F(ListenTest, PartialsAreLinesOfJson) {
  const auto outcome = listen_for_turns({wave("jfk"), "--stream", "--partials"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto whole = listen_for_turns({wave("jfk"), "--stream", "--format", "json"}).json();
  std::istringstream lines(outcome.out);
  std::vector<std::string> finals;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_LT(json["start"], json["end"]) << line;
    if (json["type"] == "final") {
      finals.push_back(json["text"]);
    } else {
      EXPECT_EQ(json["type"], "partial");
      EXPECT_TRUE(json.contains("stable"));
    }
  }
  EXPECT_EQ(finals, texts(whole));
}

TEST_F(ListenTest, TheTerminalShowsWhatIsBeingHeard) {
  std::istringstream in;
  std::ostringstream out, err;
  Console io{.in = in, .out = out, .err = err, .out_is_terminal = true, .width = 60};
  const std::vector<std::string> arguments = {
      "listen",   "-m",       (test::fixtures_root() / "asr" / "bundle-tiny").string(),
      "-t",       "2",        "--vad",
      vad_file(), "--stream", wave("jfk")};
  ASSERT_EQ(run_cli(arguments, io), 0) << err.str();
  EXPECT_NE(out.str().find("\r\x1b[K"), std::string::npos);
  EXPECT_TRUE(out.str().ends_with("\n")) << "the last line is final";
}

TEST_F(ListenTest, SubtitlesFollowTheSpeech) {
  const auto srt = listen_for_turns({wave("jfk"), "--format", "srt"});
  ASSERT_EQ(srt.code, 0) << srt.err;
  EXPECT_EQ(srt.err, "");
  EXPECT_EQ(srt.out.find("1\n00:00:00,290 --> "), 0u) << srt.out.substr(0, 80);
  EXPECT_NE(srt.out.find("00:00:03,266 --> "), std::string::npos);
  const auto vtt = listen_for_turns({wave("jfk"), "--format", "vtt"});
  EXPECT_EQ(vtt.out.find("WEBVTT\n\n"), 0u);
  EXPECT_NE(vtt.out.find("00:00:03.266 --> "), std::string::npos);
  const auto without = listen({wave("jfk"), "--format", "srt"});
  EXPECT_EQ(without.code, 0);
  EXPECT_NE(without.err.find("--vad FILE"), std::string::npos);
  EXPECT_EQ(without.out.find("1\n00:00:00,000 --> "), 0u);
}

// ALSA's device of silence stands in for a microphone. The note that it is open brings the interrupt.
TEST_F(ListenTest, TheMicrophoneIsHeardUntilInterrupted) {
  const std::string config = write("asound.conf", "pcm.!default { type null }\n");
  ::setenv("ALSA_CONFIG_PATH", config.c_str(), 1);
  if (const auto list = run({"listen", "--list-microphones"}); list.code != 0) GTEST_SKIP() << list.err;
  const std::string bundle = (test::fixtures_root() / "asr" / "bundle-tiny").string();
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"-m", bundle}, {"--vad-only", "--format", "json"}}) {
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
    std::vector<std::string> arguments = {"listen", "--vad", vad_file().string()};
    arguments.insert(arguments.end(), how.begin(), how.end());
    EXPECT_EQ(run_cli(arguments, io), 0) << notes.str();
    EXPECT_EQ(notes.str().find("listening to "), 0u) << notes.str();
    EXPECT_EQ(out.str().empty(), how[0] == "-m") << out.str();
  }
  ::unsetenv("ALSA_CONFIG_PATH");
}

TEST_F(ListenTest, LanguageModeAndContextReachTheModel) {
  const auto plain = listen({wave("jfk")});
  const auto english = listen({wave("jfk"), "--language", "en", "--format", "json"});
  ASSERT_EQ(english.code, 0) << english.err;
  EXPECT_EQ(english.json()["language"], "English");
  EXPECT_NE(listen({wave("jfk"), "--mode", "eliza"}).out, plain.out);
  EXPECT_NE(listen({wave("jfk"), "--context", "names: Kennedy"}).out, plain.out);
  EXPECT_EQ(listen({wave("jfk"), "--language", "klingon"}).code, kUsage);
}

TEST_F(ListenTest, SpeechAloneIsWhatTheReferenceFinds) {
  const auto events = test::read_json(test::fixtures_root() / "vad" / "events.json");
  const auto ranges = [](const nlohmann::json& json) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& segment : json["segments"]) {
      list.push_back({{"start", std::llround(segment["start"].get<double>() * kRate)},
                      {"end", std::llround(segment["end"].get<double>() * kRate)}});
    }
    return list;
  };
  const auto& expected = events["timestamps"]["jfk"]["base"];
  // The detector alone: no recogniser is needed.
  std::vector<std::string> how = {"listen",    "--vad-only", "--vad", vad_file().string(),
                                  wave("jfk"), "--format",   "json"};
  const auto outcome = run(how);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(ranges(outcome.json()), expected["default"]);
  EXPECT_EQ(outcome.json()["audio_seconds"], 11.0);
  EXPECT_GT(outcome.json()["segments"][0]["mean_probability"], 0.5);
  how[4] = "-";
  EXPECT_EQ(ranges(run(how, test::read_text(wave("jfk"))).json()), expected["default"]);
  how.insert(how.end(), {"--min-silence-ms", "300", "--pad-ms", "100", "--min-speech-ms", "100"});
  how[4] = wave("jfk");
  EXPECT_EQ(ranges(run(how).json()), expected["sil300_pad100_min100"]);

  const auto table = run({"listen", "--vad-only", "--vad", vad_file().string(), wave("jfk")});
  EXPECT_NE(table.out.find("start"), std::string::npos);
  EXPECT_NE(table.out.find("0.290"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("in 11.000 s"), std::string::npos) << table.out;
}

TEST_F(ListenTest, PlotsWithAndWithoutRecognition) {
  const std::string alone = (folder_ / "alone.svg").string(), both = (folder_ / "both.svg").string();
  EXPECT_EQ(listen_for_turns({wave("jfk"), "--vad-only", "--plot", alone}).code, 0);
  EXPECT_EQ(listen_for_turns({wave("jfk"), "--plot", both}).code, 0);
  EXPECT_EQ(test::read_text(alone).find("<svg"), 0u);
  EXPECT_EQ(test::read_text(alone), test::read_text(both));
}

TEST_F(ListenTest, ShortSilentAndLoudRecordingsHaveAResult) {
  const std::vector<std::pair<std::string, std::vector<float>>> recordings = {
      {"none.wav", {}},
      {"one.wav", {0.1f}},
      {"short.wav", std::vector<float>(201, 0.1f)},
      {"silent.wav", std::vector<float>(kRate, 0.0f)},
      {"loud.wav", std::vector<float>(kRate, 5.0f)},
  };
  for (const auto& [name, samples] : recordings) {
    const std::string file = write_samples(name, samples);
    for (const std::vector<std::string>& how :
         std::vector<std::vector<std::string>>{{file},
                                               {file, "--stream"},
                                               {file, "--format", "json"},
                                               {file, "--format", "srt"},
                                               {file, "--vad-only"}}) {
      const auto outcome = listen_for_turns(how);
      EXPECT_EQ(outcome.code, 0) << name << ' ' << how.back() << ": " << outcome.err;
    }
    EXPECT_EQ(listen({file, "--stream"}).code, 0) << name;
    EXPECT_EQ(listen({"-"}, test::read_text(file)).code, 0) << name;
  }
  EXPECT_EQ(listen({"-"}, "").code, 0);
  EXPECT_EQ(listen({"-"}, "x").code, 0);
}

TEST_F(ListenTest, SoundThatCannotBeReadIsNamed) {
  const std::string text = write("talk.wav", std::string(500, 'x'));
  for (const char* how : {"--stream", "--vad-only", "--format=json"}) {
    expect_error(listen_for_turns({text, how}), kFailure, {"talk.wav", "WAV"});
    expect_error(listen_for_turns({(folder_ / "absent.wav").string(), how}), kFailure,
                 {"absent.wav", "check the path"});
  }
  std::string floats(4 * kRate, '\0');
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(floats.data() + 4000, &nan, sizeof nan);
  expect_error(listen_for_turns({"-", "--pcm", "f32le"}, floats), kFailure, {"standard input", "no number"});
  expect_error(listen_for_turns({"-"}, "OggS" + std::string(100, 'x')), kFailure, {"by its name"});
  expect_error(listen_for_turns({"-"}, "RIFF...."), kFailure, {"standard input", "WAV"});
}

TEST_F(ListenTest, ModelsThatAreMissingAreNamed) {
  const std::string empty = folder_.path().string();
  expect_error(run({"listen", "-m", empty, wave("jfk")}), kFailure, {empty, "mmproj"});
  expect_error(run({"listen", "-m", empty, "--vad-only", wave("jfk")}), kFailure, {"--vad FILE"});
  expect_error(listen({wave("jfk"), "--plot", (folder_ / "out.svg").string()}), kFailure, {"--vad FILE"});
  expect_error(listen({wave("jfk"), "--vad", (folder_ / "absent.bin").string(), "--stream"}), kFailure,
               {"absent.bin"});
  expect_error(listen({wave("jfk"), "--words", "--format", "json"}), kFailure,
               {"--words", "Qwen3-ForcedAligner"});
}

// Two aligners: one whose times are all 0, and so in order, and one of random times, nearly all of which lie
// beyond the end of 0.3 seconds.
TEST_F(ListenTest, WordsHaveTimesWhereTheAlignerKnowsThem) {
  fs::copy(test::fixtures_root() / "asr" / "bundle-tiny", folder_.path(), fs::copy_options::recursive);
  const auto listen_to = [&](const std::string& file) {
    return run({"listen", "-m", folder_.path().string(), file, "--words", "--format", "json"});
  };
  std::vector<float> classifier(64 * test::kAlignerClasses, 0.0f);
  const AsrFiles files = test::write_aligner(folder_ / "asr", classifier);
  const auto timed = listen_to(wave("jfk"));
  ASSERT_EQ(timed.code, 0) << timed.err;
  EXPECT_EQ(timed.err, "");
  const auto segment = timed.json()["segments"][0];
  ASSERT_GT(segment["words"].size(), 1u);
  EXPECT_EQ(segment["words"][0]["start"], 0.0);
  EXPECT_NE(segment["words"][0]["word"], "");

  fs::remove(files.text);
  fs::remove(files.encoder);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (float& weight : classifier) weight = normal(random);
  test::write_aligner(folder_ / "asr", classifier);
  const std::string short_file = (test::fixtures_root() / "asr/wav/asr_4800.wav").string();
  const auto untimed = listen_to(short_file);
  EXPECT_EQ(untimed.code, 0);
  EXPECT_NE(untimed.err.find("warning"), std::string::npos) << untimed.err;
  EXPECT_FALSE(untimed.json()["segments"][0].contains("words"));
  EXPECT_NE(untimed.json()["text"], "");
}

TEST_F(ListenTest, OptionsThatContradictEachOtherAreRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--asr", "x.gguf", "a.wav"}, "--mmproj"},
      {{"-m", "x", "--asr", "x.gguf", "--mmproj", "y.gguf", "a.wav"}, "--asr"},
      {{"--microphone", "x", "a.wav"}, "--microphone"},
      {{"--stream"}, "--stream"},
      {{"--stream", "-"}, "--stream"},
      {{"--partials", "a.wav"}, "--partials"},
      {{"--partials", "--format", "srt", "-"}, "--partials"},
      {{"--plot", "a.svg", "-"}, "--plot"},
      {{"--words", "a.wav"}, "--words"},
      {{"--format", "xml", "a.wav"}, "srt"},
      {{"--threshold", "2", "a.wav"}, "--threshold"},
      {{"--pcm", "mp3", "-"}, "s16le"},
      {{"--rate", "0", "-"}, "--rate"},
  };
  for (const auto& [arguments, word] : wrong) {
    std::vector<std::string> line = {"listen"};
    line.insert(line.end(), arguments.begin(), arguments.end());
    expect_error(run(line), kUsage, {word, "parlance listen --help"});
  }
}

}  // namespace
}  // namespace parlance
