#include "cli/repl.h"

#include <deque>
#include <fstream>
#include <sstream>

#include "cli/open_text.h"
#include "support/fixtures.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

using Status = LineReader::Status;

// Plays lines as if a person typed them.
class ScriptedLines final : public LineReader {
 public:
  explicit ScriptedLines(std::deque<Line> lines) : lines_(std::move(lines)) {}

  Line read(std::string_view prompt) override {
    prompts.emplace_back(prompt);
    if (lines_.empty()) return {};
    Line line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }
  void remember(const std::string& text) override { remembered.push_back(text); }

  std::vector<std::string> prompts;
  std::vector<std::string> remembered;

 private:
  std::deque<Line> lines_;
};

class ReplTest : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_model(folder_ / "tiny.gguf");
    choice_.files.folder = (folder_ / "tiny.gguf").string();
    choice_.devices.n_threads = 1;
    answer_.generate.max_tokens = 5;
    answer_.generate.ignore_eos = true;
    answer_.seed = 1;
  }

  // Both streams as the person sees them.
  std::string talk(const std::vector<std::string>& typed) {
    std::deque<LineReader::Line> lines;
    for (const std::string& text : typed) lines.push_back({Status::line, text});
    return play(std::move(lines));
  }

  std::string play(std::deque<LineReader::Line> typed) {
    std::istringstream in;
    std::ostringstream seen;
    const Console io{.in = in, .out = seen, .err = seen};
    const auto text = open_text(choice_, io);
    EXPECT_TRUE(text) << text.error().message;
    if (!text) return {};
    lines_ = std::make_unique<ScriptedLines>(std::move(typed));
    const auto code = run_repl(io, *lines_, **text, answer_, prompt_);
    EXPECT_TRUE(code);
    EXPECT_EQ(code.value_or(-1), kSuccess);
    return seen.str();
  }

  static void expect_in(const std::string& seen, const std::string& words) {
    EXPECT_NE(seen.find(words), std::string::npos) << "no '" << words << "' in:\n" << seen;
  }

  const test::TemporaryFolder folder_;
  ModelChoice choice_;
  AnswerChoice answer_;
  PromptChoice prompt_;
  std::unique_ptr<ScriptedLines> lines_;
};

TEST_F(ReplTest, AnswersUntilTheEnd) {
  const std::string seen = talk({"Hello", "  ", "And?"});
  expect_in(seen, "Tiny test model");
  expect_in(seen, "Ended after 5 tokens");
  EXPECT_EQ(lines_->remembered, (std::vector<std::string>{"Hello", "And?"}));
}

TEST_F(ReplTest, JoinsLinesThatEndWithABackslash) {
  talk({"one\\", "two\\", "three"});
  EXPECT_EQ(lines_->remembered, (std::vector<std::string>{"one\ntwo\nthree"}));
  EXPECT_EQ(lines_->prompts, (std::vector<std::string>{"> ", ". ", ". ", "> "}));
}

TEST_F(ReplTest, GivesUpAMessageThatIsInterrupted) {
  const std::string seen = play({{Status::line, "one\\"},
                                 {Status::interrupted, ""},
                                 {Status::interrupted, ""},
                                 {Status::line, "/exit"}});
  expect_in(seen, "Ctrl-D");
  EXPECT_EQ(lines_->remembered, (std::vector<std::string>{"/exit"}));
}

TEST_F(ReplTest, ListsItsCommands) {
  const std::string seen = talk({"/help"});
  for (const std::string& command : repl_commands()) expect_in(seen, "  " + command);
}

TEST_F(ReplTest, GuessesAtMistypedCommands) {
  expect_in(talk({"/hepl"}), "did you mean /help?");
  expect_in(talk({"/xyzzy"}), "/help lists them");
  expect_in(talk({"/clear now"}), "/clear takes nothing");
}

TEST_F(ReplTest, SaysASlashWhenItIsDoubled) {
  talk({"//path", "/save " + (folder_ / "said.json").string()});
  EXPECT_EQ(test::read_json(folder_ / "said.json")["messages"][0]["content"], "/path");
}

TEST_F(ReplTest, SavesAndLoads) {
  const std::string path = (folder_ / "talk.json").string();
  expect_in(talk({"/system Be brief.", "Hello", "/save " + path}), "2 messages are in");
  const auto saved = test::read_json(path);
  ASSERT_EQ(saved["messages"].size(), 3u);
  EXPECT_EQ(saved["messages"][0]["role"], "system");
  EXPECT_EQ(saved["messages"][1]["content"], "Hello");
  expect_in(talk({"/load " + path, "/system"}), "Be brief.");
}

TEST_F(ReplTest, SaysWhyAFileCannotBeUsed) {
  expect_in(talk({"/load " + (folder_ / "absent.json").string()}), "absent.json");
  std::ofstream(folder_ / "bad.json") << "{";
  expect_in(talk({"/load " + (folder_ / "bad.json").string()}), "name a file that /save wrote");
  expect_in(talk({"Hello", "/save " + (folder_ / "no" / "where.json").string()}), "where.json");
  expect_in(talk({"/save"}), "needs the name");
}

TEST_F(ReplTest, ForgetsAndRetries) {
  const std::string path = (folder_ / "talk.json").string();
  expect_in(talk({"Hello", "Again", "/undo", "/save " + path}), "Forgotten: Again");
  EXPECT_EQ(test::read_json(path)["messages"].size(), 2u);
  talk({"Hello", "/retry", "/save " + path});
  EXPECT_EQ(test::read_json(path)["messages"].size(), 2u);
  talk({"Hello", "/clear", "/save " + path});
  EXPECT_EQ(test::read_json(path)["messages"].size(), 0u);
  expect_in(talk({"/undo"}), "nothing to forget");
  expect_in(talk({"/retry"}), "no question");
}

TEST_F(ReplTest, RetriesWithOtherChances) {
  answer_.generate.sampling.temperature = 2;
  answer_.generate.max_tokens = 20;
  const std::string once = (folder_ / "once.json").string(), twice = (folder_ / "twice.json").string();
  talk({"Hello", "/save " + once, "/retry", "/save " + twice});
  EXPECT_NE(test::read_json(once)["messages"][1]["content"],
            test::read_json(twice)["messages"][1]["content"]);
}

TEST_F(ReplTest, ChangesSettings) {
  const std::string seen =
      talk({"/set temp 0.25", "/set --top-k 3", "/set top-k 3", "/set max-tokens 2", "Hello", "/set"});
  expect_in(seen, "temp is set");
  expect_in(seen, "temp 0.25, top-k 3");
  expect_in(seen, "Ended after 2 tokens");
  expect_in(talk({"/set temp hot"}), "'hot'");
  expect_in(talk({"/set tmep 1"}), "did you mean temp?");
  expect_in(talk({"/set temp"}), "needs a value");
  expect_in(talk({"/set top-p 7", "/set"}), "top-p 0.95");
}

TEST_F(ReplTest, ShowsStatistics) {
  const std::string seen = talk({"Hello", "/stats"});
  expect_in(seen, "answer tokens");
  expect_in(seen, "of 512 tokens");
}

TEST_F(ReplTest, SaysWhenTheContextWasFull) {
  choice_.n_ctx = 200;
  const std::string question(40, 'a');
  expect_in(talk({question, question, question, question}), "no longer known to the model");
  expect_in(talk({std::string(1000, 'x')}), "raise --ctx-size");
}

TEST_F(ReplTest, GoesOnAfterTextThatIsNoUtf8) {
  const std::string path = (folder_ / "talk.json").string();
  expect_in(talk({"a\xff", "/save " + path}), "not valid UTF-8");
  EXPECT_EQ(test::read_json(path)["messages"][0]["content"], "a\uFFFD");
}

}  // namespace
}  // namespace parlance
