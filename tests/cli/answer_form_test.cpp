// parlance chat with a schema, a grammar or an expression; and its page, whose examples are run as they are.
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "cli/cli_run.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

using test::expect_error;
using test::run;

constexpr const char* kCitySchema =
    R"({"type":"object","properties":{"city":{"type":"string","maxLength":20},"n":{"type":"integer","minimum":0,"maximum":99}},"required":["city","n"]})";

class AnswerFormTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::current_path(folder_.path()); }
  void TearDown() override { std::filesystem::current_path(before_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(name) << text; }

  const std::filesystem::path before_ = std::filesystem::current_path();
  const test::TemporaryFolder folder_;
};

TEST_F(AnswerFormTest, AnswersAreInTheFormThatIsAskedFor) {
  write("city.json", kCitySchema);
  for (const std::string schema : {kCitySchema, "city.json"}) {
    const auto outcome =
        run({"chat", "-p", "What is the capital of France?", "-j", schema, "--greedy", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto answer = nlohmann::json::parse(outcome.json()["text"].get<std::string>(), nullptr, false);
    ASSERT_TRUE(answer.is_object()) << outcome.out;
    EXPECT_LE(answer["n"], 99);
    EXPECT_EQ(outcome.json()["cut"], false);
  }
  write("list.gbnf", "root ::= [a-z]+ (\", \" [a-z]+){2}");
  const auto list =
      run({"chat", "-p", "Name three animals.", "--grammar", "list.gbnf", "--greedy", "-n", "60"});
  EXPECT_TRUE(std::regex_match(list.out, std::regex("[a-z]+(, [a-z]+){2}\n")) ||
              list.err.find("cut off") != std::string::npos)
      << list.out;
  const auto word = run({"chat", "-p", "Is the sky blue?", "--regex", "yes|no", "--temp", "2"});
  EXPECT_TRUE(word.out == "yes\n" || word.out == "no\n") << word.out;
}

TEST_F(AnswerFormTest, ACutAnswerWarns) {
  const auto outcome = run({"chat", "-p", "Hi", "-j", kCitySchema, "-n", "3", "--json"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.json()["cut"], true);
  EXPECT_NE(outcome.err.find("cut off after 3 tokens"), std::string::npos) << outcome.err;
}

TEST_F(AnswerFormTest, FormsThatCannotBeAreErrorsOfUsage) {
  expect_error(run({"chat", "-p", "Hi", "-j", R"({"type":"object","properties":{"a":{"multipleOf":2}}})"}), 2,
               {"--json-schema /properties/a/multipleOf", "not supported"});
  expect_error(run({"chat", "-p", "Hi", "-j", "{"}), 2, {"--json-schema", "not valid JSON"});
  expect_error(run({"chat", "-p", "Hi", "-j", "missing.json"}), 2, {"missing.json"});
  expect_error(run({"chat", "-p", "Hi", "--regex", "(a"}), 2, {"--regex", "character 3"});
  expect_error(run({"chat", "-p", "Hi", "--regex", "a", "-j", "{}"}), 2, {"one form"});
  write("bad.gbnf", "root ::= a");
  expect_error(run({"chat", "-p", "Hi", "--grammar", "bad.gbnf"}), 2, {"--grammar: line 1", "no rule a"});
}

// A line of a shell, with quotes of both kinds.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  bool is_open = false;
  char quote = 0;
  for (const char c : line) {
    if (quote ? c == quote : c == '\'' || c == '"') {
      quote = quote ? '\0' : c;
      if (!is_open) words.emplace_back();
      is_open = true;
    } else if (c == ' ' && !quote) {
      is_open = false;
    } else {
      if (!is_open) words.emplace_back();
      is_open = true;
      words.back() += c;
    }
  }
  return words;
}

TEST_F(AnswerFormTest, ThePagesExamplesDoWhatTheySay) {
  std::istringstream page(test::read_text(test::source_root() / "docs/structured-output.md"));
  std::vector<std::string> commands;
  std::string line, block, text;
  while (std::getline(page, line)) {
    if (line.starts_with("```")) {
      if (block.starts_with("```json ")) write(block.substr(8), text);
      if (block == "```gbnf") write(text.substr(2, text.find('\n') - 2), text);
      block = block.empty() ? line : "";
      text.clear();
    } else if (block == "```sh") {
      commands.push_back(line);
    } else {
      text += line + '\n';
    }
  }
  EXPECT_GE(commands.size(), 4u);
  for (const std::string& command : commands) {
    std::vector<std::string> words = words_of(command);
    ASSERT_EQ(words[0], "parlance");
    words.erase(words.begin());
    words.insert(words.end(), {"--greedy", "-n", "200"});
    const auto outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "") << command;
    EXPECT_NE(outcome.out, "") << command;
  }
}

}  // namespace
}  // namespace parlance
