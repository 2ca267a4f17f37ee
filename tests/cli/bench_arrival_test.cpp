// parlance bench --arriving: a prompt beside answers, whichever is longer.
#include <gtest/gtest.h>

#include "cli/cli_run.h"

namespace parlance::test {
namespace {

TEST(BenchArrival, EveryFigureIsThere) {
  const std::string model = (source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf").string();
  for (const std::string arriving : {"20", "300"}) {
    SCOPED_TRACE(arriving);
    const auto outcome = run({"bench", "-m", model, "-t", "1", "-r", "1", "-p", "0", "-n", "6", "-d", "90",
                              "-s", "2", "--arriving", arriving, "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto rows = outcome.json()["runs"][0]["arrivals"];
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0]["n_sequences"], 2);
    EXPECT_EQ(rows[0]["n_arriving"], std::stoi(arriving));
    for (const char* const figure :
         {"plain_ms", "plain_after_ms", "median_stretch", "longest_ms", "alone_ms"})
      EXPECT_GT(rows[0][figure].get<double>(), 0) << figure;
    EXPECT_GE(rows[0]["longest_stretch"].get<double>(), rows[0]["p99_stretch"].get<double>());
    EXPECT_GE(rows[0]["p99_stretch"].get<double>(), rows[0]["median_stretch"].get<double>());
  }
}

}  // namespace
}  // namespace parlance::test
