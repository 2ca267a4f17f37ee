// Every operation of the checks on every instruction set, against the definition and what other programs
// recorded.
#include "verify/kernels.h"
#include "support/json_file.h"

#include <algorithm>
#include <cmath>

#include "support/fixtures.h"
#include "verify/capabilities.h"

namespace parlance::verify {
namespace {

void expect_all_passed(const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    EXPECT_TRUE(check.has_passed()) << check.device << ": " << check.subject.operation << " "
                                    << check.subject.format << " against " << check.against << " is off by "
                                    << check.max_error << " " << check.problem;
    EXPECT_GT(check.n_values, 0) << check.subject.operation << " " << check.subject.format;
  }
}

class VerifyKernels : public testing::Test {
 protected:
  void SetUp() override {
    auto devices = cpu_devices(1);
    ASSERT_TRUE(devices) << devices.error().message;
    devices_ = *std::move(devices);
  }

  std::vector<TestedDevice> devices_;
};

TEST_F(VerifyKernels, MatchTheDefinition) {
  const std::vector<Check> checks = check_against_definition(devices_, devices_.front());
  EXPECT_EQ(checks.empty(), devices_.size() == 1);
  expect_all_passed(checks);
}

TEST_F(VerifyKernels, MatchEveryFixture) {
  PARLANCE_REQUIRE_FIXTURES("kv");
  const auto fixtures = read_fixtures(test::fixtures_root() / "kv");
  ASSERT_TRUE(fixtures) << fixtures.error().message;
  EXPECT_GE(fixtures->size(), 25u);
  std::vector<Check> all;
  for (const Fixture& fixture : *fixtures) {
    const std::vector<Check> harness = check_harness(fixture);
    expect_all_passed(harness);
    size_t n_checks = harness.size();
    for (const TestedDevice& tested : devices_) {
      const std::vector<Check> checks = check_against_fixture(tested, fixture);
      expect_all_passed(checks);
      n_checks += checks.size();
      all.insert(all.end(), checks.begin(), checks.end());
    }
    EXPECT_EQ(n_checks > 0, fixture.left_out.empty()) << fixture.name;
  }
  std::vector<std::string> labels;
  for (const TestedDevice& tested : devices_) labels.push_back(tested.label);
  for (const KernelReport& report : report_kernels(all, labels)) {
    SCOPED_TRACE(report.entry->kernel);
    EXPECT_TRUE(report.is_verified_on("cpu"));
    EXPECT_EQ(report.states.size(), devices_.size());
  }
  EXPECT_EQ(report_devices(labels), std::vector<std::string>{"cpu"});

  // A device that was looked at and lacks the operations, and one of the sets with a check that failed.
  labels.push_back("gpu:0");
  Check failed = *std::ranges::find_if(all, [&](const Check& check) {
    return check.device == labels.front() && check.subject.operation == "attn_score_qjl";
  });
  failed.max_error = 1;
  all.push_back(failed);
  EXPECT_EQ(report_devices(labels), (std::vector<std::string>{"cpu", "gpu:0"}));
  for (const KernelReport& report : report_kernels(all, labels)) {
    SCOPED_TRACE(report.entry->kernel);
    EXPECT_FALSE(report.is_verified_on("gpu:0"));
    EXPECT_FALSE(report.states.back().has_run);
    EXPECT_EQ(report.states.back().status, "blocked");
    EXPECT_EQ(report.is_verified_on("cpu"), report.entry->kernel != "qjl");
    EXPECT_FALSE(report.is_verified_on("cuda:0")) << "nobody looked there";
  }
}

TEST_F(VerifyKernels, SeeAWrongNumber) {
  PARLANCE_REQUIRE_FIXTURES("kv");
  auto text = test::read_json(test::fixtures_root() / "kv/attn_score.json");
  auto& score = text["cases"][0]["expected_scores"][0][5];
  score = score.get<double>() + 0.01;
  const auto fixture = parse_fixture("attn_score.json", text.dump());
  ASSERT_TRUE(fixture) << fixture.error().message;
  const std::vector<Check> checks = check_against_fixture(devices_.front(), *fixture);
  const auto n_failed =
      std::count_if(checks.begin(), checks.end(), [](const Check& c) { return !c.has_passed(); });
  EXPECT_EQ(n_failed, 1);
  const std::vector<std::string> labels{devices_.front().label};
  for (const KernelReport& report : report_kernels(checks, labels)) {
    EXPECT_EQ(report.is_verified_on("cpu"), report.entry->kernel != "turbo3") << report.entry->kernel;
  }
}

TEST(VerifyChecks, NotANumberIsAnError) {
  const Subject subject{"an operation", "a format", Unit::absolute, 1};
  Checks checks("a device", "a source");
  checks.compare(subject, std::vector<float>{NAN}, std::vector<float>{0});
  EXPECT_FALSE(checks.take().front().has_passed());
  checks.compare(subject, std::vector<float>{INFINITY, 2}, std::vector<float>{INFINITY, 1.5f});
  EXPECT_TRUE(checks.take().front().has_passed());
  checks.compare(subject, std::vector<float>{1}, std::vector<float>{1, 2});
  EXPECT_FALSE(checks.take().front().has_passed());
}

}  // namespace
}  // namespace parlance::verify
