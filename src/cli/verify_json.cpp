// The reports of `parlance verify` for programs.
#include "cli/verify_report.h"
#include "verify/capabilities.h"

namespace parlance {

using namespace verify;

namespace {

std::string_view unit_name(Unit unit) {
  switch (unit) {
    case Unit::absolute:
      return "absolute";
    case Unit::relative:
      return "relative";
    case Unit::bytes:
      return "bytes";
    case Unit::squares:
      break;
  }
  return "mean square";
}

Json kernel_json(const KernelReport& report) {
  Json devices = Json::array(), expected = Json::array();
  for (const KernelState& state : report.states) {
    const bool is_cpu = state.device.starts_with("cpu ");
    Json fixtures = Json::array();
    for (const std::string& fixture : state.fixtures) fixtures.push(fixture);
    devices.push(Json::object({{"device", is_cpu ? "cpu" : state.device},
                               {"instructionSet", is_cpu ? Json(state.device.substr(4)) : Json()},
                               {"maxError", state.has_run ? Json(state.max_error) : Json()},
                               {"fixtures", fixtures},
                               {"runtimeStatus", state.status}}));
  }
  for (const std::string_view fixture : report.entry->fixtures) {
    if (!fixture.empty()) expected.push(fixture);
  }
  return Json::object({{"kernel", report.entry->kernel},
                       {"manifestName", report.entry->manifest},
                       {"capabilityKey", report.entry->capability},
                       {"fixtures", expected},
                       {"devices", devices}});
}

// What a device may be said to be capable of: what was run there and passed.
Json device_json(const std::string& device, std::span<const KernelReport> reports) {
  Json manifest = Json::array(), capabilities = Json::object();
  for (const KernelReport& report : reports) {
    const bool is_verified = report.is_verified_on(device);
    if (is_verified) manifest.push(report.entry->manifest);
    capabilities.set(report.entry->capability, is_verified);
  }
  return Json::object(
      {{"device", device}, {"manifestKernelNames", manifest}, {"capabilities", capabilities}});
}

Json check_json(const Check& check) {
  Json json = Json::object({{"operation", check.subject.operation},
                            {"format", check.subject.format},
                            {"device", check.device},
                            {"against", check.against},
                            {"values", check.n_values},
                            {"maxError", check.max_error},
                            {"tolerance", check.subject.tolerance},
                            {"unit", unit_name(check.subject.unit)},
                            {"passed", check.has_passed()}});
  if (!check.problem.empty()) json.set("problem", check.problem);
  return json;
}

}  // namespace

Json to_json(const VerifyFindings& findings) {
  Json devices = Json::array(), kernels = Json::array(), checks = Json::array();
  const std::vector<KernelReport> reports = report_kernels(findings.checks, findings.devices);
  for (const std::string& device : report_devices(findings.devices))
    devices.push(device_json(device, reports));
  for (const KernelReport& report : reports) kernels.push(kernel_json(report));
  for (const Check& check : findings.checks) checks.push(check_json(check));
  Json left_out = Json::array();
  for (const std::string& reason : findings.left_out) left_out.push(reason);
  return Json::object({{"schemaVersion", kContractVersion},
                       {"program", "parlance"},
                       {"version", PARLANCE_VERSION},
                       {"passed", failures_of(findings).empty()},
                       {"devices", devices},
                       {"kernels", kernels},
                       {"fixturesLeftOut", left_out},
                       {"checks", checks}});
}

Json to_json(const SelfTest& test) {
  Json figures = Json::array(), parities = Json::array(), runtime = Json::array();
  for (const Figure& figure : test.figures) {
    figures.push(Json::object({{"format", name_of(figure.format)},
                               {"found", figure.found},
                               {"published", figure.published},
                               {"passed", figure.found == figure.published}}));
  }
  for (const Parity& parity : test.parities) {
    parities.push(Json::object({{"name", parity.name},
                                {"difference", parity.difference},
                                {"tolerance", parity.tolerance},
                                {"passed", parity.difference <= parity.tolerance}}));
  }
  for (const RuntimeScore& score : test.runtime) {
    runtime.push(
        Json::object({{"format", name_of(score.format)}, {"score", static_cast<double>(score.score)}}));
  }
  return Json::object({{"passed", test.has_passed()},
                       {"exact", static_cast<double>(test.exact)},
                       {"figures", figures},
                       {"parity", parities},
                       {"runtime", runtime}});
}

}  // namespace parlance
