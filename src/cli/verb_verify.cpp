// parlance verify: whether the operations on cache formats do what they are defined to do, on every device.
#include <algorithm>
#include <iterator>
#include <memory>

#include "base/os/file.h"
#include "cli/terminal/options.h"
#include "cli/verbs.h"
#include "cli/verify_report.h"
#include "devices/devices.h"
#include "kernels/vulkan/vulkan_device.h"
#include "verify/kernels.h"

namespace parlance {

namespace {

using namespace verify;

struct VerifyOptions {
  std::string what;
  std::string fixtures;
  std::string json;
  int n_threads = 0;
  std::vector<std::string> devices;
};

// The CPU stands for each of its instruction sets; without names, every device that can be used, but for
// drivers that only emulate a GPU.
Result<std::vector<TestedDevice>> devices_of(const VerifyOptions& options) {
  std::vector<std::string> names = options.devices;
  if (names.empty()) {
    for (const Backend& backend : list_backends()) {
      if (!backend.devices) continue;
      for (const DeviceInfo& info : *backend.devices)
        if (!is_software_vulkan(info.name)) names.push_back(info.name);
    }
  }
  std::vector<TestedDevice> devices;
  for (const std::string& name : names) {
    if (name == "cpu") {
      PARLANCE_TRY(auto sets, cpu_devices(options.n_threads));
      std::move(sets.begin(), sets.end(), std::back_inserter(devices));
      continue;
    }
    PARLANCE_TRY(auto device, make_device(name, options.n_threads));
    std::string label(device->name());
    devices.push_back({std::move(label), std::move(device), std::nullopt});
  }
  return devices;
}

void append(std::vector<Check>& all, std::vector<Check> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

Result<VerifyFindings> look(const VerifyOptions& options) {
  std::vector<Fixture> fixtures;
  if (!options.fixtures.empty()) {
    PARLANCE_TRY(fixtures, read_fixtures(options.fixtures));
  }
  PARLANCE_TRY(const std::vector<TestedDevice> devices, devices_of(options));
  PARLANCE_TRY(auto definition,
               make_cpu_device({.n_threads = options.n_threads, .isa = name_of(Isa::scalar)}));
  const TestedDevice defining{"cpu scalar", std::move(definition), Isa::scalar};

  VerifyFindings findings;
  findings.fixtures = options.fixtures;
  for (const Fixture& fixture : fixtures) {
    if (fixture.left_out.empty()) {
      ++findings.n_fixtures;
    } else {
      findings.left_out.push_back(fmt::format("{}: {}", fixture.name, fixture.left_out));
    }
    append(findings.checks, check_harness(fixture));
  }
  append(findings.checks, check_against_definition(devices, defining));
  for (const TestedDevice& tested : devices) {
    findings.devices.push_back(tested.label);
    for (const Fixture& fixture : fixtures) append(findings.checks, check_against_fixture(tested, fixture));
  }
  return findings;
}

// To a file, or to standard output in place of the text for people.
Result<void> write_json(const Console& io, const std::string& file, const Json& json) {
  if (file == "-") {
    io.print("{}\n", json.pretty());
    return {};
  }
  PARLANCE_TRY(AtomicFile out, AtomicFile::create(file));
  PARLANCE_CHECK(out.write(json.pretty() + "\n"));
  return out.commit();
}

Result<int> verify_kernels(Console& io, const VerifyOptions& options) {
  PARLANCE_TRY(const VerifyFindings findings, look(options));
  if (!options.json.empty()) PARLANCE_CHECK(write_json(io, options.json, to_json(findings)));
  if (options.json != "-") print_findings(io, findings);
  return failures_of(findings).empty() ? kSuccess : kFailure;
}

Result<int> verify_self_test(Console& io, const VerifyOptions& options) {
  PARLANCE_TRY(const Isa isa, choose_isa());
  PARLANCE_TRY(auto device, make_cpu_device({.n_threads = options.n_threads, .isa = name_of(isa)}));
  PARLANCE_TRY(const SelfTest test, run_self_test({"cpu", std::move(device), isa}));
  if (!options.json.empty()) PARLANCE_CHECK(write_json(io, options.json, parlance::to_json(test)));
  if (options.json != "-") print_self_test(io, test);
  return test.has_passed() ? kSuccess : kFailure;
}

Result<void> check_options(const VerifyOptions& options) {
  if (options.what == "kernels") return {};
  if (options.what != "self-test") {
    return fail(ErrorCode::invalid_argument, "'{}' cannot be verified; give kernels or self-test",
                options.what);
  }
  if (options.fixtures.empty() && options.devices.empty()) return {};
  return fail(ErrorCode::invalid_argument,
              "--fixtures and --device belong to verify kernels; the self-test has none");
}

}  // namespace

Command verify_command() {
  const auto options = std::make_shared<VerifyOptions>();
  Command command;
  command.name = "verify";
  command.summary = "Check the operations on compressed caches against their definition.";
  command.description =
      "kernels runs every operation on every cache format on each instruction set of the processor and on "
      "each "
      "GPU, compares it with the scalar definition on random vectors and, with --fixtures, with numbers that "
      "other programs recorded, and prints the largest errors. self-test reproduces the figures that "
      "elizaOS's "
      "verify harness publishes. The exit code is 0 when everything is within its tolerance.\n\n"
      "The report of --json has the names under which manifests and runtimes of elizaOS know the kernels "
      "(turboquant_q3, qjl_full, …), with the devices on which each is verified.";
  command.examples = {{"parlance verify kernels", "every device against the definition"},
                      {"parlance verify kernels --fixtures fixtures/kv --json report.json",
                       "and against recorded numbers, with a report for programs"},
                      {"parlance verify self-test", "the six published figures"}};
  Option what = text_option("WHAT", "WHAT", "kernels or self-test.", options->what);
  what.required = true;
  command.positionals = {what};
  command.groups = {
      {"Comparison",
       {text_option("--fixtures", "DIR", "Folder of recorded numbers (*.json), and its folder upstream.",
                    options->fixtures),
        list_option("--device", "NAME",
                    "Look at this device only: cpu (each of its instruction sets), vulkan:0, cuda:0, …",
                    options->devices),
        threads_option(options->n_threads)}},
      {"Output",
       {text_option("--json", "FILE",
                    "Write a report as JSON; to standard output, in place of the tables, for -.",
                    options->json)}}};
  command.check = [options] { return check_options(*options); };
  command.run = [options](Console& io) {
    return options->what == "kernels" ? verify_kernels(io, *options) : verify_self_test(io, *options);
  };
  return command;
}

}  // namespace parlance
