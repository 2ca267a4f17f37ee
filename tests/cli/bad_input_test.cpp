// What people and disks do wrong: one line that says what to do, and no half-written file.
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "cli/cli_run.h"
#include "cli/terminal/interrupt.h"
#include "support/fixtures.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::run;

class BadInputTest : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_model(folder_ / "tiny.gguf");
    model_ = path("tiny.gguf");
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return path(name);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  // Every verb that reads a model, on this file.
  std::vector<std::vector<std::string>> readers_of(const std::string& model) const {
    return {{"chat", "-m", model, "-p", "Hello"},
            {"info", model},
            {"tokenize", "-m", model, "-p", "Hello"},
            {"quantize", model, path("out.gguf"), "q8_0"},
            {"bench", "-m", model, "-p", "1", "-n", "0", "-d", "0", "-r", "1"},
            {"bench", "-m", model, "--load", "-r", "1"}};
  }

  const test::TemporaryFolder folder_;
  std::string model_;
};

TEST_F(BadInputTest, ModelThatIsNotThere) {
  for (const auto& arguments : readers_of(path("absent.gguf"))) {
    SCOPED_TRACE(arguments[0]);
    expect_error(run(arguments), kFailure, {"absent.gguf", "check the path"});
  }
  EXPECT_EQ(files(), std::vector<std::string>{"tiny.gguf"});
}

// The answer is there; that it could not be kept is an error in words.
TEST_F(BadInputTest, CacheFileWithANameThatIsTooLong) {
  for (const size_t n : {300, 5000}) {
    const auto result =
        run({"chat", "-m", model_, "--raw", "-n", "1", "-p", "x", "--cache-file", path(std::string(n, 'x'))});
    EXPECT_NE(result.code, 0);
    EXPECT_NE(result.err.find("xxx"), std::string::npos) << result.err;
  }
}

TEST_F(BadInputTest, ModelThatIsAFolder) {
  for (const auto& arguments : readers_of(folder_.path().string())) {
    SCOPED_TRACE(arguments[0]);
    expect_error(run(arguments), kFailure, {folder_.path().string(), "file"});
  }
}

TEST_F(BadInputTest, ModelThatIsNoGguf) {
  const std::string text = write("letter.txt", std::string(5000, 'x'));
  const std::string empty = write("empty.gguf", "");
  for (const std::string& file : {text, empty}) {
    for (const auto& arguments : readers_of(file)) {
      SCOPED_TRACE(arguments[0]);
      expect_error(run(arguments), kFailure, {fs::path(file).filename().string()});
    }
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"empty.gguf", "letter.txt", "tiny.gguf"}));
}

TEST_F(BadInputTest, ModelCutShort) {
  const std::string whole = test::read_text(model_);
  for (const double share : {0.001, 0.02, 0.1, 0.5, 0.999}) {
    const std::string cut =
        write("cut.gguf", whole.substr(0, static_cast<size_t>(share * static_cast<double>(whole.size()))));
    for (const auto& arguments : readers_of(cut)) {
      SCOPED_TRACE(arguments[0]);
      expect_error(run(arguments), kFailure, {"cut.gguf"});
    }
  }
}

// A byte changed anywhere gives an answer or an error, never anything else.
TEST_F(BadInputTest, ModelWithChangedBytes) {
  const std::string whole = test::read_text(model_);
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    std::string changed = whole;
    for (int j = 0; j < 3; ++j) changed[random() % 8000] = static_cast<char>(random());
    const std::string file = write("changed.gguf", changed);
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"info", file},
          {"chat", "-m", file, "-t", "1", "-p", "Hello", "-n", "2", "-c", "128"}}) {
      const auto outcome = run(arguments);
      EXPECT_TRUE(outcome.code == kSuccess || outcome.code == kFailure) << outcome.code;
      if (outcome.code != kSuccess) expect_error(outcome, kFailure, {"changed.gguf"});
    }
  }
}

TEST_F(BadInputTest, ModelOfAnotherArchitecture) {
  test::write_tiny_model(folder_ / "other.gguf", {.architecture = "mamba"});
  expect_error(run({"chat", "-m", path("other.gguf"), "-p", "Hello"}), kFailure,
               {"other.gguf", "mamba", "qwen3"});
}

TEST_F(BadInputTest, PromptBeyondTheContext) {
  expect_error(run({"chat", "-m", model_, "-p", std::string(1000, 'x')}), kFailure,
               {"the prompt has 1", "context holds 512", "--ctx-size"});
  expect_error(run({"chat", "-m", model_, "-c", "10", "-p", "Hello there"}), kFailure,
               {"context holds 10", "--ctx-size"});
}

TEST_F(BadInputTest, PromptThatIsEmptyOrAbsent) {
  expect_error(run({"chat", "-m", model_, "-p", ""}), kFailure, {"prompt is empty"});
  expect_error(run({"chat", "-m", model_}, "\n"), kFailure, {"prompt is empty"});
  expect_error(run({"chat", "-m", model_, "-f", path("absent.txt")}), kFailure,
               {"absent.txt", "check the path"});
  expect_error(run({"chat", "-m", model_, "-f", folder_.path().string()}), kFailure,
               {folder_.path().string()});
}

TEST_F(BadInputTest, PromptsOfOddBytesAreAnswered) {
  using namespace std::string_literals;
  for (const std::string& prompt : {"\0"s, "a\0b"s, "\xff\xfe\x80"s, "\xed\xa0\x80"s, "\xf4\x90\x80\x80"s,
                                    "\xc3"s, "<|im_end|>"s, "{{ 1/0 }}{% raise %}"s, "\x1b[31m"s}) {
    const auto outcome = run({"chat", "-m", model_, "-n", "2", "-t", "1"}, prompt);
    EXPECT_EQ(outcome.code, kSuccess) << outcome.err;
  }
}

TEST_F(BadInputTest, OptionsThatDoNotFitTheModel) {
  expect_error(run({"chat", "-m", model_, "-p", "a", "--device", "tpu"}), kFailure,
               {"'tpu'", "this machine has cpu"});
  expect_error(run({"chat", "-m", model_, "-p", "a", "--device", "cuda:x"}), kFailure, {"'cuda:x'"});
  expect_error(run({"chat", "-m", model_, "-p", "a", "--device", "cuda:99"}), kFailure, {"--device cuda"});
  expect_error(run({"chat", "-m", model_, "-p", "a", "--device", "vulkan:99"}), kFailure,
               {"--device vulkan"});
  expect_error(run({"chat", "-m", model_, "-p", "a", "--device", "metal"}), kFailure,
               {"built without Metal"});
  expect_error(run({"chat", "-m", model_, "-p", "a", "-c", "1099511627776"}), kUsage, {"--ctx-size"});
  const auto huge = run({"chat", "-m", model_, "-p", "a", "-c", "2147483648", "-ctk", "f32", "-ctv", "f32"});
  EXPECT_EQ(huge.code, kFailure);
  EXPECT_NE(huge.err.find("context"), std::string::npos) << huge.err;
}

TEST_F(BadInputTest, TokensThatAreNone) {
  for (const std::string text : {"abc", "259", "-1", "1.5", "99999999999999999999"}) {
    expect_error(run({"tokenize", "-m", model_, "--decode", "-p", text}), kFailure,
                 {"'" + text + "'", "0 to 258"});
  }
}

TEST_F(BadInputTest, QuestionsThatCannotBeRead) {
  expect_error(run({"eval", "-m", model_}), kFailure, {"eval.jsonl", "parlance eval FILE"});
  expect_error(run({"eval", "-m", model_, path("absent.jsonl")}), kFailure,
               {"absent.jsonl", "check the path"});
  write("eval.jsonl", "{\"id\": 1}\n");
  expect_error(run({"eval", "-m", model_}), kFailure, {"eval.jsonl:1", "\"id\""});
  write("eval.jsonl",
        R"({"id": "1", "category": "a", "messages": [{"role": "user", "content": "q"}], "answers": ["b"]})");
  expect_error(run({"eval", "-m", model_, "--category", "z"}), kFailure, {"--category", "'z'"});
}

TEST_F(BadInputTest, OutputThatCannotBeWritten) {
  expect_error(run({"quantize", model_, path("no/such/folder/out.gguf"), "q8_0"}), kFailure, {"out.gguf"});
  expect_error(run({"quantize", model_, folder_.path().string(), "q8_0"}), kFailure,
               {folder_.path().string()});
  expect_error(run({"quantize", model_, "/dev/full", "q8_0"}), kFailure, {"/dev/full"});
  expect_error(run({"quantize", model_, model_, "q8_0"}), kFailure, {"tiny.gguf"});
  EXPECT_EQ(files(), std::vector<std::string>{"tiny.gguf"});
  EXPECT_EQ(run({"info", model_}).code, kSuccess);
}

// A limit on the size of files stands in for a disk that fills up in the middle.
TEST_F(BadInputTest, DiskThatFillsUp) {
  write("out.gguf", "what was there before");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limited = before;
  limited.rlim_cur = 20000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  const auto outcome = run({"quantize", model_, path("out.gguf"), "q8_0"});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  expect_error(outcome, kFailure, {"out.gguf"});
  EXPECT_EQ(files(), (std::vector<std::string>{"out.gguf", "tiny.gguf"}));
  EXPECT_EQ(test::read_text(path("out.gguf")), "what was there before");
}

TEST_F(BadInputTest, StandardOutputThatIsFull) {
  std::istringstream in;
  std::ofstream full("/dev/full");
  if (!full) GTEST_SKIP() << "no /dev/full on this system";
  std::ostringstream err;
  Console io{.in = in, .out = full, .err = err};
  const std::vector<std::string> arguments = {"chat",  "-m",           model_, "-p",
                                              "Hello", "--ignore-eos", "-n",   "400"};
  EXPECT_EQ(run_cli(arguments, io), kFailure);
  EXPECT_NE(err.str().find("standard output cannot be written"), std::string::npos) << err.str();
}

TEST_F(BadInputTest, EnvironmentThatNamesNoModel) {
  ::setenv("PARLANCE_MODEL", path("absent.gguf").c_str(), 1);
  const auto chat = run({"chat", "-p", "Hello"});
  const auto doctor = run({"doctor"});
  ::unsetenv("PARLANCE_MODEL");
  expect_error(chat, kFailure, {"absent.gguf", "check the path"});
  EXPECT_EQ(doctor.code, kSuccess);
  EXPECT_NE(doctor.out.find("PARLANCE_MODEL names a file that does not exist"), std::string::npos)
      << doctor.out;
}

TEST_F(BadInputTest, InterruptEndsAnAnswerAndKeepsItsBeginning) {
  std::istringstream in;
  std::ostringstream err;
  // The signal comes while tokens are made: the handler is there as soon as the first piece is written.
  class Interrupting final : public std::stringbuf {
    int sync() override {
      if (!std::exchange(done_, true)) std::raise(SIGINT);
      return std::stringbuf::sync();
    }
    bool done_ = false;
  } buffer;
  std::ostream interrupting(&buffer);
  Console io{.in = in, .out = interrupting, .err = err};
  const std::vector<std::string> arguments = {"chat",     "-m",           model_,   "-p",
                                              "Hello",    "--ignore-eos", "-n",     "400",
                                              "--greedy", "--logit-bias", "88+1000"};
  EXPECT_EQ(run_cli(arguments, io), kInterrupted);
  EXPECT_TRUE(buffer.str().starts_with("X")) << buffer.str();
  EXPECT_LT(buffer.str().size(), 400u);
  EXPECT_EQ(err.str(), "");
}

TEST_F(BadInputTest, InterruptIsNoticedOnlyWhileTheGuardLives) {
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    const InterruptGuard guard(SecondInterrupt::waits);
    EXPECT_FALSE(guard.interrupted());
    std::raise(SIGINT);
    std::raise(SIGINT);
    EXPECT_TRUE(guard.interrupted());
  }
  {
    const InterruptGuard guard(SecondInterrupt::waits);
    EXPECT_FALSE(guard.interrupted());
  }
  std::raise(SIGINT);  // ignored again
  std::signal(SIGINT, before);
}

}  // namespace
}  // namespace parlance
