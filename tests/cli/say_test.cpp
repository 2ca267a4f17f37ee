// `parlance say` and `parlance voice`, from their arguments to files and reports, with a tiny model of random
// weights.
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "audio/audio_file.h"
#include "audio/wav_writer.h"
#include "cli/cli_run.h"
#include "tts/support/tiny_tts.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::Outcome;
using test::run;

constexpr const char* kText = "The quick brown fox jumped over the lazy dog.";

class SayTest : public testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("omnivoice/models");
    test::make_tiny_bundle(folder_);
  }

  Outcome with_model(const std::string& verb, std::vector<std::string> more,
                     const std::string& input = "") const {
    std::vector<std::string> arguments = {verb, "-m", folder_.path().string(), "-t", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, input);
  }
  Outcome say(std::vector<std::string> more, const std::string& input = "") const {
    more.insert(more.end(), {"--steps", "4"});
    return with_model("say", std::move(more), input);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // A tone that sways, as a recording.
  std::string record(const std::string& name, double seconds) const {
    std::vector<float> samples(static_cast<size_t>(seconds * 16000));
    for (size_t i = 0; i < samples.size(); ++i) {
      const auto t = static_cast<float>(i) / 16000;
      samples[i] = 0.5f * std::sin(1000 * t + 20 * std::sin(30 * t));
    }
    EXPECT_TRUE(write_wav(folder_ / name, samples, {.sample_rate_hz = 16000}));
    return path(name);
  }

  const test::TemporaryFolder folder_;
};

TEST_F(SayTest, WritesTheSameFileFromArgumentFileAndInput) {
  const auto said = say({kText, "-o", path("a.wav"), "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  const auto json = said.json();
  EXPECT_EQ(json["output"], path("a.wav"));
  EXPECT_EQ(json["model"], "base.gguf");
  EXPECT_EQ(json["codec"], "codec.gguf");
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["seed"], 42);
  EXPECT_EQ(json["steps"], 4);
  EXPECT_EQ(json["guidance_mask"], "hard");
  EXPECT_EQ(json["streamed"], false);
  EXPECT_GT(json["first_audio_ms"], 0);
  EXPECT_GT(json["real_time_factor"], 0);
  ASSERT_EQ(json["chunks"].size(), 1u);
  EXPECT_EQ(json["chunks"][0]["text"], kText);
  EXPECT_EQ(json["chunks"][0]["steps"], 4);
  EXPECT_GT(json["chunks"][0]["frames"], 10);

  const auto clip = read_audio(path("a.wav"), kSpeechRateHz);
  ASSERT_TRUE(clip) << clip.error().message;
  EXPECT_EQ(std::ssize(clip->samples), json["samples"].get<int64_t>());

  std::ofstream(folder_ / "text.txt") << kText;
  ASSERT_EQ(say({"--file", path("text.txt"), "-o", path("b.wav")}).code, 0);
  ASSERT_EQ(say({"-o", path("c.wav")}, kText).code, 0);
  EXPECT_EQ(test::read_text(path("b.wav")), test::read_text(path("a.wav")));
  EXPECT_EQ(test::read_text(path("c.wav")), test::read_text(path("a.wav")));
  ASSERT_EQ(say({kText, "-o", path("d.wav"), "--seed", "7"}).code, 0);
  EXPECT_NE(test::read_text(path("d.wav")), test::read_text(path("a.wav")));
}

TEST_F(SayTest, StreamsToStandardOutput) {
  const auto piped = say({kText, "-o", "-", "--format", "f32"});
  ASSERT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.err, "");
  EXPECT_TRUE(piped.out.starts_with("RIFF"));
  const auto filed = say({kText, "-o", path("a.wav"), "--stream", "--format", "f32", "--json"});
  ASSERT_EQ(filed.code, 0) << filed.err;
  EXPECT_EQ(filed.json()["streamed"], true);
  const auto clip = read_audio(path("a.wav"), kSpeechRateHz);
  ASSERT_TRUE(clip) << clip.error().message;
  const size_t n_bytes = clip->samples.size() * sizeof(float);
  ASSERT_GT(piped.out.size(), n_bytes);
  EXPECT_EQ(piped.out.substr(piped.out.size() - n_bytes),
            test::read_text(path("a.wav")).substr(test::read_text(path("a.wav")).size() - n_bytes));
}

// ALSA's device of silence stands in for a speaker.
TEST_F(SayTest, SpeaksAloud) {
  std::ofstream(folder_ / "asound.conf") << "pcm.!default { type null }\n";
  ::setenv("ALSA_CONFIG_PATH", path("asound.conf").c_str(), 1);
  if (const auto list = run({"say", "--list-speakers"}); list.code == 0) {
    const auto said = say({"Hello world.", "--json"});
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_EQ(said.json()["streamed"], true);
    EXPECT_EQ(said.json()["output"], "default");
  }
  ::unsetenv("ALSA_CONFIG_PATH");
}

TEST_F(SayTest, LongTextIsSpokenInParts) {
  const std::string text = std::string("This is a test of speech. ") + kText + " Hello world.";
  const auto said = say({text, "-o", path("a.wav"), "--json", "--stream", "--warm-up", "1"});
  ASSERT_EQ(said.code, 0) << said.err;
  const auto json = said.json();
  ASSERT_EQ(json["chunks"].size(), 2u);
  EXPECT_EQ(json["chunks"][0]["text"], "This is a test of speech.");
  EXPECT_EQ(json["quality"], "standard");
  EXPECT_GT(json["chunks"][0]["reference_frames"], 0);  // a voice that nobody hears
  EXPECT_EQ(json["chunks"][1]["reference_frames"], json["chunks"][0]["reference_frames"]);
  EXPECT_EQ(json["warm_up_runs"], 1);
  EXPECT_LT(json["first_audio_ms"].get<double>(), 1000 * json["processing_seconds"].get<double>());
  EXPECT_EQ(say({text, "-o", path("a.wav"), "--json", "--chunk-seconds", "1"}).json()["chunks"].size(), 3u);
}

TEST_F(SayTest, VoicesComeFromRecordingsAndFiles) {
  const std::string recording = record("me.wav", 2);
  const auto by_recording =
      say({kText, "-o", path("a.wav"), "--ref", recording, "--ref-text", "Some words", "--json"});
  ASSERT_EQ(by_recording.code, 0) << by_recording.err;
  EXPECT_EQ(by_recording.json()["reference_frames"], 50);

  const auto encoded =
      with_model("voice", {"encode", recording, "--ref-text", "Some words", "-o",
                           path("cache/voice-preset-me.bin"), "--instruct", "female", "--json"});
  ASSERT_EQ(encoded.code, 0) << encoded.err;
  EXPECT_EQ(encoded.json()["frames"], 56);  // with quiet behind it
  EXPECT_EQ(encoded.json()["reference_text"], "Some words.");
  const auto by_preset = say({kText, "-o", path("b.wav"), "--voice", "me", "--json"});
  ASSERT_EQ(by_preset.code, 0) << by_preset.err;
  EXPECT_EQ(by_preset.json()["reference_frames"], 56);

  ASSERT_EQ(with_model("voice", {"encode", recording, "-o", path("me.rvq")}).code, 0);
  const auto by_codes = say({kText, "-o", path("c.wav"), "--voice", path("me.rvq"), "--json"});
  ASSERT_EQ(by_codes.code, 0) << by_codes.err;
  EXPECT_EQ(by_codes.json()["reference_frames"], 56);

  for (const std::string& voice : {std::string("me"), path("me.rvq"), path("cache/voice-preset-me.bin")}) {
    const auto shown = with_model("voice", {"show", voice, "--json"});
    ASSERT_EQ(shown.code, 0) << shown.err;
    EXPECT_EQ(shown.json()["frames"], 56);
  }
  const auto shown = with_model("voice", {"show", "me"});
  EXPECT_NE(shown.out.find("2.2 s in 56 frames of 8 codes"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("Some words."), std::string::npos);
  EXPECT_EQ(with_model("voice", {"list"}).out, "me\nsample\n");
  const auto by_sample = say({kText, "-o", path("d.wav"), "--voice", "sample", "--json"});
  ASSERT_EQ(by_sample.code, 0) << by_sample.err;
  EXPECT_EQ(by_sample.json()["reference_frames"], 9);
}

TEST_F(SayTest, RefusesUnusableCommandLines) {
  expect_error(say({"a", "-f", "b", "-o", "c.wav"}), 2, {"TEXT", "--file"});
  expect_error(say({"a", "-o", "-", "--json"}), 2, {"--json", "-o"});
  expect_error(say({"a", "-o", "b.wav", "--speaker", "x"}), 2, {"--speaker"});
  expect_error(say({"a", "-o", "b.wav", "--ref-text", "c"}), 2, {"--ref-text", "--ref"});
  expect_error(say({"a", "-o", "b.wav", "--quality", "best"}), 2, {"best", "exact, standard, fast"});
  expect_error(say({"a", "-o", "b.wav", "--quality", "exact", "--keep-steps", "2"}), 2,
               {"exact", "shortcuts"});
  expect_error(say({"a", "-o", "b.wav", "--quality", "fast", "--guidance-mask", "soft"}), 2, {"soft"});
  expect_error(say({"a", "-o", "b.wav", "--ref", "c.wav", "--ref-text", "d", "--voice", "e"}), 2,
               {"--voice"});
  expect_error(say({"a", "-o", "b.wav", "--language", "Klingonese"}), 2, {"Klingonese"});
  expect_error(say({"a", "-o", "b.wav", "--base", "c.gguf"}), 2, {"--codec"});
  expect_error(run({"say", "a", "-o", "b.wav", "--position-temperature", "0.0000001"}), 2, {"temperature"});
  expect_error(with_model("voice", {"sing"}), 2, {"sing", "encode"});
  expect_error(with_model("voice", {"encode", "a.wav", "-o", "a.mp3"}), 2, {".rvq"});
  expect_error(with_model("voice", {"encode", "a.wav", "-o", "a.rvq", "--ref-text", "b"}), 2, {"preset"});
}

TEST_F(SayTest, RefusesWhatCannotBeSpoken) {
  const std::string out = path("a.wav");
  for (const char* text : {"", "  \n", "🙂🙂 ...!"})
    expect_error(say({text, "-o", out}), 1, {"nothing to say"});
  expect_error(say({"-o", out}, ""), 1, {"nothing to say"});
  expect_error(say({"a", "-o", out, "--voice", "nobody"}), 1, {"nobody", "sample"});
  std::ofstream(folder_ / "cache/voice-preset-bad.bin") << "ELZ1 and no more";
  expect_error(say({"a", "-o", out, "--voice", "bad"}), 1, {"voice-preset-bad.bin"});
  std::ofstream(folder_ / "other.rvq") << std::string(11, '\xff');  // a frame of the largest codes
  expect_error(say({"a", "-o", out, "--voice", path("other.rvq")}), 1, {"other.rvq", "2047", "0 to 63"});
  expect_error(say({"a", "-o", out, "--ref", record("short.wav", 0.1), "--ref-text", "b"}), 1,
               {"short.wav", "too short"});
  expect_error(say({"a", "-o", out, "--ref", record("long.wav", 100), "--ref-text", "b"}), 1,
               {"long.wav", "100 seconds"});
  expect_error(say({"a", "-o", out, "--ref", path("none.wav"), "--ref-text", "b"}), 1, {"none.wav"});
  expect_error(say({"a", "-o", out, "--instruct", "a purple voice"}), 1, {"purple"});
  expect_error(say({"a", "-o", path("no/such/folder/a.wav")}), 1, {"a.wav"});
  expect_error(run({"say", "a", "-o", out, "-m", path("cache")}), 1, {"omnivoice-lm"});
  EXPECT_FALSE(fs::exists(out));
}

TEST_F(SayTest, CtrlCEndsIt) {
  // The signal comes when the first step is shown: the handler is there by then.
  class Interrupting final : public std::stringbuf {
    int sync() override {
      if (!std::exchange(done_, true)) std::raise(SIGINT);
      return 0;
    }
    bool done_ = false;
  } buffer;
  std::istringstream in;
  std::ostringstream out;
  std::ostream err(&buffer);
  Console io{.in = in, .out = out, .err = err, .err_is_terminal = true};
  const std::vector<std::string> arguments = {
      "say",        "-m", folder_.path().string(), kText, "-o", path("a.wav"), "--steps", "1000",
      "--duration", "60"};
  EXPECT_EQ(run_cli(arguments, io), kInterrupted);
  EXPECT_NE(buffer.str().find("step 1 of"), std::string::npos);
  EXPECT_NE(buffer.str().find("cancelled"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "a.wav"));
}

}  // namespace
}  // namespace parlance
