// parlance eval asr, codec and tts, from their arguments to what they print, with tiny models of random
// weights: nothing that they hear is right, but all of it has to be counted.
#include <fstream>

#include "assistant/default_model.h"
#include "audio/wav_writer.h"
#include "base/parameter.h"
#include "cli/cli_run.h"
#include "cli/eval_speech.h"
#include "text/spoken_form.h"
#include "tts/support/tiny_tts.h"

namespace parlance::test {
namespace {

namespace fs = std::filesystem;

class EvalSpeechTest : public testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("asr/bundle-tiny");
    PARLANCE_REQUIRE_FIXTURES("omnivoice/models");
    PARLANCE_REQUIRE_FIXTURES("vad/events.json");
    make_tiny_bundle(folder_);
    fs::create_directory_symlink(fixtures_root() / "asr/bundle-tiny/asr", folder_ / "asr");
    fs::create_symlink(fixtures_root() / "vad/espeak_turns.wav", folder_ / "turns.wav");
    const std::vector<float> silence(8000);
    ASSERT_TRUE(write_wav(folder_ / "silence.wav", silence, {.sample_rate_hz = 16000}));
  }

  void write_set(const std::string& lines) const { std::ofstream(folder_ / "index.jsonl") << lines; }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Outcome eval(const std::string& what, std::vector<std::string> more = {}) const {
    const std::string folder = folder_.path().string();
    std::vector<std::string> arguments = {"eval", what, "--set", folder, "-m", folder, "-t", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }

  const TemporaryFolder folder_;
};

constexpr const char* kRecordings = R"({"audio": "turns.wav", "text": "It is 3:40 pm.", "group": "seen"})"
                                    "\n\n"
                                    R"({"audio": "silence.wav", "text": "", "group": "silence"})"
                                    "\n";

TEST_F(EvalSpeechTest, CountsWordsOfTranscripts) {
  write_set(kRecordings);
  const auto json = eval("asr", {"--json", "--show-failures"}).json();
  EXPECT_EQ(json["all"]["recordings"], 2);
  EXPECT_EQ(json["all"]["words"], 6);  // it is three forty p m
  EXPECT_EQ(json["all"]["silent"], 1);
  EXPECT_GT(json["all"]["audio_seconds"], 4);
  EXPECT_GT(json["all"]["real_time_factor"], 0);
  ASSERT_EQ(json["groups"].size(), 2u);
  EXPECT_EQ(json["groups"]["seen"]["words"], 6);
  EXPECT_EQ(json["groups"]["seen"]["silent"], 0);
  EXPECT_EQ(json["groups"]["silence"]["silent"], 1);
  ASSERT_GE(json["misheard"].size(), 1u);
  const std::string heard = json["misheard"][0]["heard"];
  const WordErrors errors = count_word_errors("it is three forty p m", spoken(heard));
  EXPECT_DOUBLE_EQ(json["groups"]["seen"]["word_error_rate"], errors.rate());
  EXPECT_EQ(json["groups"]["seen"]["substitutions"], errors.substitutions);

  const Outcome table = eval("asr", {"--show-failures"});
  EXPECT_EQ(table.code, kSuccess) << table.err;
  for (const char* words :
       {"seen", "silence", "all", "word errors", "It is 3:40 pm.", "recordings without speech"})
    EXPECT_NE(table.out.find(words), std::string::npos) << table.out;
  EXPECT_EQ(eval("asr", {"--json", "--limit", "1"}).json()["all"]["recordings"], 1);
}

TEST_F(EvalSpeechTest, ComparesWhatTheCodecMakesOfIt) {
  write_set(kRecordings);
  const auto json = eval("codec", {"--json", "--limit", "1"}).json();
  const double original = json["all"]["original"]["word_error_rate"],
               coded = json["all"]["coded"]["word_error_rate"];
  EXPECT_EQ(json["all"]["original"]["words"], 6);
  EXPECT_EQ(json["all"]["coded"]["words"], 6);
  EXPECT_NEAR(json["all"]["points"], 100 * (coded - original), 1e-9);
  EXPECT_GT(json["all"]["codec_real_time_factor"], 0);
  EXPECT_NEAR(json["all"]["coded"]["audio_seconds"], json["all"]["original"]["audio_seconds"].get<double>(),
              0.1);
  EXPECT_EQ(json["codec"], "codec.gguf");
  const Outcome table = eval("codec", {});
  EXPECT_EQ(table.code, kSuccess) << table.err;
  for (const char* words : {"points", "1 recordings without speech"})
    EXPECT_NE(table.out.find(words), std::string::npos) << table.out;
}

TEST_F(EvalSpeechTest, HearsWhatItSpeaks) {
  write_set(R"({"text": "Hello world.", "voice": "sample", "compare": "turns.wav", "group": "presets"})"
            "\n"
            R"({"text": "Good morning.", "ref": "turns.wav", "ref_text": "One. Two."})"
            "\n");
  const std::string verifier = (source_root() / "tests/speaker/tiny.gguf").string();
  const auto json =
      eval("tts", {"--steps", "2", "--json", "--speaker", verifier, "--keep", path("kept")}).json();
  EXPECT_EQ(json["all"]["recordings"], 2);
  EXPECT_EQ(json["all"]["words"], 4);
  EXPECT_EQ(json["all"]["compared"], 2);
  EXPECT_EQ(json["groups"]["presets"]["compared"], 1);
  EXPECT_LE(json["all"]["least_likeness"], json["all"]["likeness"]);
  EXPECT_EQ(json["steps"], 2);
  EXPECT_TRUE(fs::exists(path("kept/0001.wav")) && fs::exists(path("kept/0002.wav")));

  const auto without = eval("tts", {"--steps", "2", "--json", "--limit", "1"}).json();
  EXPECT_EQ(without["all"]["compared"], 0);
  EXPECT_FALSE(without["all"].contains("likeness"));
  fs::create_directory(path("speaker"));
  fs::copy_file(verifier, path("speaker/verifier.gguf"));
  EXPECT_EQ(eval("tts", {"--steps", "2", "--json", "--limit", "1"}).json()["all"]["compared"], 1);
  const Outcome table = eval("tts", {"--steps", "2", "--limit", "1"});
  EXPECT_NE(table.out.find("likeness"), std::string::npos) << table.out << table.err;
}

TEST_F(EvalSpeechTest, SaysWhatIsWrong) {
  for (const char* what : {"asr", "codec", "tts"}) {
    expect_error(run({"eval", what, "--set", "x", "--asr", "y"}), kUsage, {"--asr", "--mmproj"});
    expect_error(eval(what), kFailure, {"index.jsonl"});
    write_set("\n");
    expect_error(eval(what), kFailure, {"in it; give a file"});
    fs::remove(path("index.jsonl"));
  }
  expect_error(run({"eval", "tts", "--set", "x", "--base", "y"}), kUsage, {"--base", "--codec"});
  const auto expect_refused = [&](const char* what, const std::string& line, const std::string& words) {
    write_set(R"({"audio": "silence.wav", "text": "x"})"
              "\n" +
              line + "\n");
    expect_error(eval(what), kFailure, {"index.jsonl:2", words});
  };
  expect_refused("asr", "{", "JSON");
  expect_refused("asr", R"({"audio": "x.wav"})", "\"text\"");
  expect_refused("asr", R"({"text": "x"})", "\"audio\"");
  expect_refused("codec", R"({"audio": 1, "text": "x"})", "\"audio\"");
  expect_refused("tts", R"({"text": ""})", "\"text\"");
  expect_refused("tts", R"({"text": "x", "ref": "a.wav"})", "\"ref_text\"");
  expect_refused("tts", R"({"text": "x", "voice": "a", "ref": "a.wav", "ref_text": "y"})", "\"voice\"");
  write_set(R"({"audio": "none.wav", "text": "x"})");
  expect_error(eval("asr"), kFailure, {"none.wav"});
  expect_error(eval("codec"), kFailure, {"none.wav"});
  write_set(R"({"text": "Hello.", "voice": "nobody"})");
  expect_error(eval("tts"), kFailure, {"text 1", "nobody"});
}

TEST(EvalSets, OfTheDemoAreFound) {
  std::string set = "given";
  EXPECT_TRUE(choose_set(set, "speech"));
  EXPECT_EQ(set, "given");
  set.clear();
  ASSERT_TRUE(choose_set(set, "speech"));
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(set) / "index.jsonl"));
  set.clear();
  const auto absent = choose_set(set, "absent");
  ASSERT_FALSE(absent);
  EXPECT_NE(absent.error().message.find(set_to(Parameter::eval_set, "PATH")), std::string::npos);
}

TEST(EvalSets, TheDemoHearsItsOwn) {
  const auto scores = run({"eval", "asr", "-t", "2", "--json"}).json();
  EXPECT_LE(scores["groups"]["seen"]["word_error_rate"].get<double>(), 0.05);
  EXPECT_LE(scores["groups"]["unseen"]["word_error_rate"].get<double>(), 0.10);
  EXPECT_LE(scores["groups"]["seen 10 dB"]["word_error_rate"].get<double>(), 0.10);
  EXPECT_EQ(scores["groups"]["no speech"]["recordings"], 13);
  EXPECT_EQ(scores["groups"]["no speech"]["silent_right"], 13);
}

TEST(EvalSets, TheDemoIsHeardThroughItsCodec) {
  const auto scores = run({"eval", "codec", "-t", "2", "--json", "--limit", "36"}).json();
  EXPECT_LE(scores["groups"]["seen"]["points"].get<double>(), 3);
}

TEST(EvalSets, TheDemoSpeaks) {
  const auto scores = run({"eval", "tts", "-t", "2", "--json", "--limit", "12"}).json()["all"];
  EXPECT_LE(scores["word_error_rate"].get<double>(), 0.08);
  EXPECT_EQ(scores["compared"], 12);
  EXPECT_GE(scores["likeness"].get<double>(), 0.7);
}

}  // namespace
}  // namespace parlance::test
