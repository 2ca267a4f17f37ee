// Runs the program in this process.
#pragma once

#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "cli/app.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance::test {

struct Outcome {
  int code;
  std::string out;
  std::string err;

  nlohmann::json json() const {
    auto value = nlohmann::json::parse(out, nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(value.is_discarded()) << "not JSON: " << out << err;
    return value;
  }
};

inline Outcome run(const std::vector<std::string>& arguments, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  Console io{.in = in, .out = out, .err = err};
  const int code = run_cli(arguments, io);
  return {code, out.str(), err.str()};
}

// What every error looks like: this exit code, nothing on standard output, one line on standard error that
// holds each of the words.
inline void expect_error(const Outcome& outcome, int code, std::initializer_list<std::string> words) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("parlance: ")) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  for (const std::string& word : words) {
    EXPECT_NE(outcome.err.find(word), std::string::npos) << "no '" << word << "' in: " << outcome.err;
  }
}

}  // namespace parlance::test
