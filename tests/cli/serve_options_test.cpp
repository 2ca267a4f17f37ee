// The options of the server: those that were agreed on, with their ranges and defaults, and what is refused.
#include <algorithm>
#include <fstream>
#include <set>

#include "cli/cli_run.h"
#include "cli/terminal/command_line.h"
#include "cli/verbs.h"
#include "support/fixtures.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

using nlohmann::json;

// What this server has not.
const std::set<std::string> kAbsent = {"--io-threads",  // one thread serves all connections
                                       "--store",       // conversations are put into files
                                       "--store-min-tokens"};

const Option* find_option(const Command& command, const std::string& name) {
  for (const OptionGroup& group : command.groups) {
    for (const Option& option : group.options) {
      const auto names = spellings(option);
      if (std::ranges::find(names, name) != names.end()) return &option;
    }
  }
  return nullptr;
}

TEST(ServeOptions, AreThoseThatWereAgreedOn) {
  PARLANCE_REQUIRE_FIXTURES("server");
  const json config = test::read_json(test::fixtures_root() / "server/config.json");
  const Command command = serve_command();
  int n_ranges = 0;
  for (const json& row : config["flags"]) {
    const std::string name = row["flag"];
    SCOPED_TRACE(name);
    const Option* const option = find_option(command, name);
    if (!option) {
      EXPECT_TRUE(kAbsent.contains(name));
      continue;
    }
    EXPECT_EQ(option->value.empty(), row["type"] == "flag");
    if (row["default"].is_number()) {
      EXPECT_EQ(option->fallback, row["default"].dump());
    }
    if (!row["range"].is_array()) continue;
    ++n_ranges;
    const json least = row["range"][0], most = row["range"][1];
    EXPECT_TRUE(option->set(least.dump())) << least;
    if (!most.is_null() && name != "--temp") {  // other verbs' too, which take more
      EXPECT_TRUE(option->set(most.dump())) << most;
      const std::string beyond = std::to_string(most.get<int64_t>() + 1);
      const auto refused = option->set(beyond);
      ASSERT_FALSE(refused);
      for (const std::string& part : {name, beyond, most.dump()})
        EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
    }
    // Parts of a second; 0 and -1: as many as suit.
    const bool takes_less = name == "--sse-ping" || name == "--threads" || name == "--max-tokens";
    if (!takes_less) {
      EXPECT_FALSE(option->set(std::to_string(least.get<int64_t>() - 1)));
    }
    EXPECT_FALSE(option->set("x"));
  }
  EXPECT_GT(n_ranges, 20);
}

TEST(ServeOptions, AVoiceThatThereIsNotIsRefused) {
  const std::string bundle = (test::source_root() / "models/demo").string();
  const auto done = test::run({"serve", "--check", "-m", bundle, "--voice", "nobody"});
  EXPECT_EQ(done.code, 2);
  EXPECT_NE(done.err.find("--voice: there is no voice 'nobody'; there is awb, "), std::string::npos)
      << done.err;
  const auto mode = test::run({"serve", "--check", "-m", bundle, "--reasoning", "sometimes"});
  EXPECT_EQ(mode.code, 2);
  EXPECT_NE(mode.err.find("off, on, auto"), std::string::npos) << mode.err;
}

TEST(ServeOptions, WhatWouldOpenTheServerToOthersIsRefused) {
  const std::vector<std::vector<std::string>> refused = {
      {"--host", "0.0.0.0"},     {"--api-key", "short"}, {"--cors-origin", "*"},
      {"--cors-origin", "null"}, {"--port", "70000"},    {"--trusted-proxy", "everybody"}};
  for (std::vector<std::string> words : refused) {
    words.insert(words.begin(), {"serve", "--check"});
    const auto done = test::run(words);
    EXPECT_EQ(done.code, 2) << words[2];
    EXPECT_NE(done.err.find(words[2] == "--host" ? "--api-key-file" : words[2]), std::string::npos)
        << done.err;
  }
  const test::TemporaryFolder folder;
  std::ofstream(folder / "keys") << "home:0123456789abcdef\n";
  const auto open = test::run({"serve", "--check", "--api-key-file", (folder / "keys").string()});
  EXPECT_EQ(open.code, 2);
  EXPECT_NE(open.err.find("chmod"), std::string::npos) << open.err;
}

TEST(ServeOptions, ArePrintedAsTheyCanBeReadAgain) {
  const test::TemporaryFolder folder;
  const std::string file = (folder / "settings").string();
  std::ofstream(file)
      << "[serve]\nqueue = 7\nallowed-host = [\"a.example\", \"b.example\"]\nno-state = true\n";
  const auto first = test::run(
      {"serve", "--print-config", "--config", file, "--port", "9", "--api-key", "0123456789abcdef"});
  ASSERT_EQ(first.code, 0) << first.err;
  for (const std::string& line : std::initializer_list<std::string>{
           "# --port\nport = \"9\"\n", "# --config " + file + "\nqueue = \"7\"\n",
           "# --config " + file + "\nallowed-host = [\"a.example\", \"b.example\"]\n",
           "# --api-key\n# api-key = (hidden)\n", "# default\n# grace = \"30\"\n"})
    EXPECT_NE(first.out.find(line), std::string::npos) << line << first.out;
  EXPECT_EQ(first.out.find("0123456789abcdef"), std::string::npos);
  std::ofstream(file) << first.out;
  const auto again = test::run({"serve", "--print-config", "--config", file});
  ASSERT_EQ(again.code, 0) << again.err;
  for (const char* line : {"\nport = \"9\"", "\nqueue = \"7\"", "\nno-state = \"true\"",
                           "\nallowed-host = [\"a.example\", \"b.example\"]"})
    EXPECT_NE(again.out.find(line), std::string::npos) << line << again.out;
  const auto hosts = setting_in_file("serve", file, "allowed-host");
  ASSERT_TRUE(hosts);
  EXPECT_EQ(*hosts, (std::vector<std::string>{"a.example", "b.example"}));
  EXPECT_FALSE(setting_in_file("serve", (folder / "nothing").string(), "allowed-host"));
}

}  // namespace
}  // namespace parlance
