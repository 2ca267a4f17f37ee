#include "cli/terminal/command_line.h"

#include <fstream>
#include <iterator>

#include "base/os/environment_variable.h"
#include "cli/cli_run.h"
#include "cli/terminal/help.h"
#include "cli/verbs.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

struct Values {
  std::string file;
  std::string type = "f16";
  std::vector<std::string> stops;
  int n = 1;
  bool is_loud = false;
};

Command command_of(Values& values) {
  Command command;
  command.name = "try";
  Option file = text_option("FILE", "FILE", "", values.file);
  file.required = true;
  command.positionals = {file};
  command.groups = {
      {"Options",
       {text_option("-ctk, --cache-type-k", "TYPE", "", values.type),
        list_option("--stop", "TEXT", "", values.stops),
        number_option<int>("-n, --number", "N", "", values.n, -10, 10), flag("--loud", "", values.is_loud)}}};
  return command;
}

Result<ParsedLine> parse(Values& values, std::vector<std::string> arguments) {
  return parse_command_line(command_of(values), arguments);
}

Result<ParsedLine> parse_with_settings(Values& values, std::string& config,
                                       std::vector<std::string> arguments) {
  Command command = command_of(values);
  command.has_settings = true;
  command.groups.push_back({"Settings", {text_option("--config", "FILE", "", config)}});
  return parse_command_line(command, arguments);
}

TEST(CommandLine, WinsOverTheEnvironmentAndThatOverAFile) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& text) { std::ofstream(folder / "settings") << text; };
  const std::string file = (folder / "settings").string();
  write("number = 2\ncache-type-k = \"file\"\n[try]\nstop = [a, b]\nloud = true\n[other]\nnumber = 99\n");
  std::string config;
  const EnvironmentVariable type("PARLANCE_CACHE_TYPE_K", "environment");
  {
    Values values;
    ASSERT_TRUE(parse_with_settings(values, config, {"in.gguf", "--config", file}));
    EXPECT_EQ(values.n, 2);
    EXPECT_EQ(values.type, "environment");
    EXPECT_EQ(values.stops, (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(values.is_loud);
  }
  {
    Values values;
    ASSERT_TRUE(parse_with_settings(values, config,
                                    {"in.gguf", "--config", file, "-n", "3", "-ctk", "line", "--stop", "c"}));
    EXPECT_EQ(values.n, 3);
    EXPECT_EQ(values.type, "line");
    EXPECT_EQ(values.stops, std::vector<std::string>{"c"});
  }
  Values values;
  ASSERT_TRUE(parse(values, {"in.gguf"}));  // of a verb without settings
  EXPECT_EQ(values.type, "f16");
  const auto refused = [&](const std::string& text, const char* part) {
    write(text);
    const auto parsed = parse_with_settings(values, config, {"in.gguf", "--config", file});
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument) << text;
    EXPECT_NE(parsed.error().message.find(part), std::string::npos) << parsed.error().message;
  };
  refused("number = 50\n", "--config");
  refused("nubmer = 5\n", "nubmer");
  refused("loud = perhaps\n", "true or false");
  EXPECT_FALSE(parse_with_settings(values, config, {"in.gguf", "--config", file + ".none"}));
}

TEST(CommandLine, SetsValues) {
  Values values;
  ASSERT_TRUE(parse(values, {"--loud", "-n", "-3", "in.gguf", "--stop", "a", "--stop=b"}));
  EXPECT_TRUE(values.is_loud);
  EXPECT_EQ(values.n, -3);
  EXPECT_EQ(values.file, "in.gguf");
  EXPECT_EQ(values.stops, (std::vector<std::string>{"a", "b"}));
}

TEST(CommandLine, KnowsShortSpellingsOfSeveralLetters) {
  Values values;
  ASSERT_TRUE(parse(values, {"-ctk", "q8_0", "in.gguf"}));
  EXPECT_EQ(values.type, "q8_0");
}

TEST(CommandLine, TakesTheLastOfTwo) {
  Values values;
  ASSERT_TRUE(parse(values, {"in.gguf", "-n", "2", "-n", "3"}));
  EXPECT_EQ(values.n, 3);
}

TEST(CommandLine, LeavesTextsAsTheyAre) {
  for (const std::string text : {"", "[a,b]", "-x", "--loud", "--", "a b", "\"quoted\"", "{}", "ä\xff"}) {
    Values values;
    const auto parsed = parse(values, {"in.gguf", "--stop", text});
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message;
    EXPECT_EQ(values.stops, std::vector<std::string>{text});
    EXPECT_FALSE(values.is_loud);
  }
}

TEST(CommandLine, TakesEverythingAfterTwoDashesAsArguments) {
  Values values;
  ASSERT_TRUE(parse(values, {"--", "-n"}));
  EXPECT_EQ(values.file, "-n");
}

TEST(CommandLine, SaysWhatIsWrong) {
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } cases[] = {
      {{}, "FILE is missing"},
      {{"a", "b"}, "'b' is one argument too many"},
      {{"a", "--lod"}, "there is no option --lod; did you mean --loud?"},
      {{"a", "--zzzzzzz=1"}, "there is no option --zzzzzzz"},
      {{"a", "-n"}, "--number needs a value (N)"},
      {{"a", "-n", "x"}, "--number: expected a whole number from -10 to 10, got 'x'"},
  };
  for (const auto& c : cases) {
    Values values;
    const auto parsed = parse(values, c.arguments);
    ASSERT_FALSE(parsed) << c.message;
    EXPECT_EQ(parsed.error().message, c.message);
  }
}

TEST(CommandLine, HelpWinsOverWhatIsWrong) {
  Values values;
  const auto parsed = parse(values, {"--help"});
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->wants_help);
}

TEST(Help, WrapsAtSpaces) {
  EXPECT_EQ(wrap("one two three", 8, 2), "one\n  two\n  three");
  EXPECT_EQ(wrap("one two three", 80, 2), "one two three");
  EXPECT_EQ(wrap("a_word_longer_than_the_line", 8, 2), "a_word_longer_than_the_line");
}

std::vector<std::string> words_of_name(const std::string& name) {
  std::istringstream text(name);
  return {std::istream_iterator<std::string>(text), {}};
}

// Of every verb: each option and example is there, and no line is wider than the terminal unless it is an
// example, which is there to be copied.
void expect_complete_help(const Command& command) {
  SCOPED_TRACE(command.name);
  std::vector<std::string> ask = words_of_name(command.name);
  ask.push_back("--help");
  const test::Outcome outcome = test::run(ask);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_FALSE(command.examples.empty());
  for (const OptionGroup& group : command.groups) {
    for (const Option& option : group.options) {
      EXPECT_FALSE(option.help.empty()) << option.names;
      EXPECT_NE(outcome.out.find("  " + option.names), std::string::npos) << option.names;
    }
  }
  for (const Example& example : command.examples)
    EXPECT_NE(outcome.out.find(example.command), std::string::npos);
  std::istringstream lines(outcome.out.substr(0, outcome.out.find("Examples\n")));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  ask.pop_back();
  ask.insert(ask.begin(), "help");
  EXPECT_EQ(test::run(ask).out, outcome.out);
  for (const Command& sub : command.sub_verbs) {
    EXPECT_NE(outcome.out.find("  " + sub.name + " "), std::string::npos) << sub.name;
    expect_complete_help(sub);
  }
}

TEST(Help, OfEveryVerbIsComplete) {
  for (const Command& command : all_commands()) expect_complete_help(command);
}

TEST(Help, OverviewNamesEveryVerb) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"--help"}, {"-h"}, {"help"}}) {
    const test::Outcome outcome = test::run(arguments);
    EXPECT_EQ(outcome.code, 0);
    for (const Command& command : all_commands()) {
      EXPECT_NE(outcome.out.find("  " + command.name + " "), std::string::npos) << command.name;
    }
  }
}

TEST(Version, IsPrinted) {
  const test::Outcome outcome = test::run({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out.starts_with("parlance ")) << outcome.out;
}

TEST(Usage, ErrorsAreOneLineWithARemedy) {
  test::expect_error(test::run({"chta"}), kUsage, {"'chta'", "did you mean chat?", "parlance --help"});
  test::expect_error(test::run({"--versoin"}), kUsage, {"'--versoin'", "parlance --help"});
  test::expect_error(test::run({"help", "nothing"}), kUsage, {"'nothing'"});
  test::expect_error(test::run({"chat", "--tmep", "1"}), kUsage,
                     {"--tmep", "--temp", "parlance chat --help"});
  test::expect_error(test::run({"chat", "--temp", "hot"}), kUsage, {"--temp", "'hot'"});
  test::expect_error(test::run({"chat", "--temp", "-1"}), kUsage, {"--temp", "'-1'"});
  test::expect_error(test::run({"chat", "--top-p", "1.5"}), kUsage, {"--top-p", "0 to 1"});
  test::expect_error(test::run({"chat", "-ctk", "q9"}), kUsage, {"--cache-type-k", "'q9'", "q8_0"});
  test::expect_error(test::run({"chat", "--logit-bias", "x"}), kUsage, {"--logit-bias", "TOKEN+BIAS"});
  test::expect_error(test::run({"chat", "-p", "a", "-f", "b"}), kUsage, {"--prompt", "--file"});
  test::expect_error(test::run({"chat", "-p", "a", "--raw", "--system", "b"}), kUsage, {"--raw", "--system"});
  test::expect_error(test::run({"chat", "-p", "a", "--ignore-eos"}), kUsage,
                     {"--ignore-eos", "--max-tokens"});
  test::expect_error(test::run({"chat", "-p", "a", "--stop", ""}), kUsage, {"--stop", "empty"});
  test::expect_error(test::run({"info"}), kUsage, {"FILE is missing", "parlance info --help"});
  test::expect_error(test::run({"quantize", "a", "b"}), kUsage, {"TYPE is missing"});
  test::expect_error(test::run({"quantize", "a", "b", "q99"}), kUsage, {"'q99'", "Q4_K_M"});
  test::expect_error(test::run({"bench", "-t", "0"}), kUsage, {"--threads"});
  test::expect_error(test::run({"tokenize", "--ids", "--json", "-p", "a"}), kUsage, {"--ids"});
  test::expect_error(test::run({"chat", "a\x1b[31m\nb"}), kUsage, {"one argument too many"});
}

}  // namespace
}  // namespace parlance
