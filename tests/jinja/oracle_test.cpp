// Random templates against Jinja2 itself, where it is installed.
#include <cstdio>
#include <cstdlib>

#include "jinja/template.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

// What the command writes to its standard output, and how it ends.
std::pair<std::string, int> run(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return {"", -1};
  char buffer[65536];
  while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, n);
  const int status = pclose(pipe);
  return {output, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

// The seed and the number of templates can be set, to look further than a test run does.
std::string option(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  return value && *value ? value : fallback;
}

TEST(JinjaOracle, RandomTemplatesRenderAsJinja2RendersThem) {
  const std::string script = (test::source_root() / "tests/jinja/oracle.py").string();
  const std::string arguments = " '" + script + "' --seed " + option("PARLANCE_ORACLE_SEED", "1") +
                                " --count " + option("PARLANCE_ORACLE_COUNT", "250") + " 2>/dev/null";
  auto [json, status] = run("python3" + arguments);
  if (status == 77) std::tie(json, status) = run("/usr/bin/python3" + arguments);
  if (status == 77 || status == 127) GTEST_SKIP() << "python3 with jinja2 is absent (Debian: python3-jinja2)";
  ASSERT_EQ(status, 0) << "the oracle failed; run python3" << arguments;

  const auto oracle = nlohmann::ordered_json::parse(json);
  const std::string variables = oracle.at("vars");
  const auto& records = oracle.at("records");
  size_t n_equal = 0, n_unsupported = 0;
  for (const auto& record : records) {
    const std::string source = record.at("template");
    const auto parsed = ChatTemplate::parse(source);
    const auto text = parsed ? parsed->render(variables, 0) : tl::unexpected<Error>(parsed.error());
    if (record.contains("error")) {
      EXPECT_FALSE(text.has_value()) << source << "\nfails in Jinja2 with " << record.at("error")
                                     << "\nand gives here: " << *text;
    } else if (text) {
      EXPECT_EQ(*text, record.at("text").get<std::string>()) << source;
      ++n_equal;
    } else {
      EXPECT_EQ(text.error().code, ErrorCode::unsupported)
          << source << "\ngives in Jinja2: " << record.at("text") << "\nfails here: " << text.error().message;
      ++n_unsupported;
    }
  }
  // What is not supported says so, and is rare.
  EXPECT_LT(n_unsupported * 50, records.size());
  EXPECT_GT(n_equal * 2, records.size()) << "most templates of the oracle should render";
}

}  // namespace
}  // namespace parlance
