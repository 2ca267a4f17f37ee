#include "verify/capabilities.h"

#include <algorithm>

namespace parlance::verify {

namespace {

template <size_t n>
bool contains(const std::array<std::string_view, n>& list, std::string_view word) {
  return !word.empty() && std::find(list.begin(), list.end(), word) != list.end();
}

// Whether a subject's formats, of keys or of values, are among those of the kernel.
bool is_in_formats(const KernelEntry& entry, std::string_view format) {
  constexpr std::string_view kBetween = " x ";
  const size_t between = format.find(kBetween);
  if (between == std::string_view::npos) return contains(entry.formats, format);
  return contains(entry.formats, format.substr(0, between)) ||
         contains(entry.formats, format.substr(between + kBetween.size()));
}

// Score operations of other kernels are never on the formats of this one.
bool is_of(const KernelEntry& entry, const Check& check) {
  return is_in_formats(entry, check.subject.format);
}

// "cpu" of "cpu avx2".
std::string_view device_in(std::string_view label) {
  return label.substr(0, label.find(' '));
}

std::string_view status_of(const KernelState& state, bool has_passed) {
  if (!has_passed || !state.has_run) return "blocked";
  return state.fixtures.empty() ? "needs-runtime-smoke" : "verified";
}

KernelState state_on(const KernelEntry& entry, const std::string& device, std::span<const Check> checks) {
  KernelState state{.device = device};
  bool has_passed = true;
  for (const Check& check : checks) {
    if (check.device != device || !is_of(entry, check)) continue;
    has_passed &= check.has_passed();
    state.has_run = state.has_run || contains(entry.operations, check.subject.operation);
    if (check.subject.unit == Unit::absolute) state.max_error = std::max(state.max_error, check.max_error);
    const bool is_new =
        std::find(state.fixtures.begin(), state.fixtures.end(), check.against) == state.fixtures.end();
    if (check.against != kDefinition && check.has_passed() && is_new) state.fixtures.push_back(check.against);
  }
  std::sort(state.fixtures.begin(), state.fixtures.end());
  state.status = status_of(state, has_passed);
  return state;
}

}  // namespace

bool KernelReport::is_verified_on(std::string_view device) const {
  bool is_verified = false;
  for (const KernelState& state : states) {
    if (device_in(state.device) != device) continue;
    if (state.status != "verified") return false;
    is_verified = true;
  }
  return is_verified;
}

std::vector<KernelReport> report_kernels(std::span<const Check> checks,
                                         std::span<const std::string> devices) {
  std::vector<KernelReport> reports;
  for (const KernelEntry& entry : kContractKernels) {
    KernelReport report{&entry, {}};
    for (const std::string& device : devices) report.states.push_back(state_on(entry, device, checks));
    reports.push_back(std::move(report));
  }
  return reports;
}

std::vector<std::string> report_devices(std::span<const std::string> labels) {
  std::vector<std::string> devices;
  for (const std::string& label : labels) {
    const std::string device(device_in(label));
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
  }
  return devices;
}

}  // namespace parlance::verify
