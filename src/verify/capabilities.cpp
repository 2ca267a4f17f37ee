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

std::string_view status_of(const KernelState& state, bool has_passed) {
  if (!has_passed) return "blocked";
  return state.fixtures.empty() ? "needs-runtime-smoke" : "verified";
}

KernelState state_on(const KernelEntry& entry, const std::string& device, std::span<const Check> checks) {
  KernelState state{.device = device};
  bool has_passed = true;
  for (const Check& check : checks) {
    if (check.device != device || !is_of(entry, check)) continue;
    has_passed &= check.has_passed();
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

bool KernelReport::is_verified() const {
  return !devices.empty() && std::all_of(devices.begin(), devices.end(),
                                         [](const KernelState& state) { return state.status == "verified"; });
}

std::vector<KernelReport> report_kernels(std::span<const Check> checks) {
  std::vector<KernelReport> reports;
  for (const KernelEntry& entry : kContractKernels) {
    KernelReport report{&entry, {}};
    for (const Check& check : checks) {
      const bool has_operation = contains(entry.operations, check.subject.operation) && is_of(entry, check);
      const bool is_new =
          std::none_of(report.devices.begin(), report.devices.end(),
                       [&](const KernelState& state) { return state.device == check.device; });
      if (has_operation && is_new) report.devices.push_back(state_on(entry, check.device, checks));
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace parlance::verify
