#include "cli/verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/terminal/table.h"
#include "verify/capabilities.h"

namespace parlance {

using namespace verify;

namespace {

constexpr std::string_view kHost = "host";  // what no device runs

// A row of the table: one subject, or one format of keys with all formats of values.
struct Row {
  const Subject* subject;
  std::map<std::string, std::vector<const Check*>> by_device;
};

std::string row_format(const Subject& subject) {
  const size_t between = subject.format.find(" x ");
  const bool has_every_pair = subject.operation == "attention" || subject.operation == "packed_attention";
  if (between == std::string::npos || !has_every_pair) return subject.format;
  return subject.format.substr(0, between) + " x any";
}

// In the order of the contract; what it does not name, first.
std::vector<Row> rows_of(const VerifyFindings& findings) {
  const auto order = [](const std::string& operation) {
    const auto found = std::find(kContractOperations.begin(), kContractOperations.end(), operation);
    return found == kContractOperations.end() ? -1 : static_cast<int>(found - kContractOperations.begin());
  };
  std::map<std::tuple<int, std::string, std::string>, Row> rows;
  for (const Check& check : findings.checks) {
    const std::string& operation = check.subject.operation;
    Row& row = rows[{order(operation), operation, row_format(check.subject)}];
    row.subject = &check.subject;
    row.by_device[check.device].push_back(&check);
  }
  std::vector<Row> list;
  for (auto& [key, row] : rows) list.push_back(std::move(row));
  return list;
}

std::string error_text(double error) {
  return error == 0 ? "0" : fmt::format("{:.1e}", error);
}

std::string tolerance_text(const Subject& subject) {
  switch (subject.unit) {
    case Unit::bytes:
      return "0 bytes";
    case Unit::relative:
      return fmt::format("{:.0e} relative", subject.tolerance);
    case Unit::squares:
      return fmt::format("{:.0e} mean square", subject.tolerance);
    case Unit::absolute:
      break;
  }
  return fmt::format("{:.0e}", subject.tolerance);
}

// The largest error of a row on a device; "-" where there is no kernel.
std::string cell_text(const Row& row, const std::string& device) {
  const auto found = row.by_device.find(device);
  if (found == row.by_device.end()) return "-";
  double largest = 0;
  bool has_passed = true;
  for (const Check* check : found->second) {
    largest = std::max(largest, check->max_error);
    has_passed &= check->has_passed();
  }
  return has_passed ? error_text(largest) : "FAIL " + error_text(largest);
}

void print_rows(const Console& io, const std::vector<Row>& rows, const std::vector<std::string>& devices) {
  std::vector<Table::Column> columns = {{"operation", Table::Align::left},
                                        {"format", Table::Align::left},
                                        {"may be off by", Table::Align::left}};
  for (const std::string& device : devices) columns.push_back({device});
  Table table(columns);
  for (const Row& row : rows) {
    std::vector<std::string> cells = {row.subject->operation, row_format(*row.subject),
                                      tolerance_text(*row.subject)};
    bool has_any = false;
    for (const std::string& device : devices) {
      cells.push_back(cell_text(row, device));
      has_any |= cells.back() != "-";
    }
    if (has_any) table.add(std::move(cells));
  }
  if (table.n_rows() > 0) io.print("{}\n", table.text(io));
}

void print_kernels(const Console& io, const VerifyFindings& findings) {
  for (const KernelReport& report : report_kernels(findings.checks, findings.devices)) {
    std::map<std::string_view, std::vector<std::string>> devices;  // by status
    for (const KernelState& state : report.states)
      devices[state.has_run ? state.status : "absent"].push_back(state.device);
    std::vector<std::string> states;
    for (const auto& [status, names] : devices) {
      states.push_back(fmt::format("{} on {}", status, fmt::join(names, ", ")));
    }
    io.print("  {:<12}{:<16}{}\n", report.entry->kernel, report.entry->manifest, fmt::join(states, "; "));
  }
}

}  // namespace

std::vector<const Check*> failures_of(const VerifyFindings& findings) {
  std::vector<const Check*> failures;
  for (const Check& check : findings.checks) {
    if (!check.has_passed()) failures.push_back(&check);
  }
  return failures;
}

void print_findings(const Console& io, const VerifyFindings& findings) {
  const std::vector<Row> rows = rows_of(findings);
  print_rows(io, rows, findings.devices);
  print_rows(io, rows, {std::string(kHost)});
  print_kernels(io, findings);
  if (findings.fixtures.empty()) {
    io.print("\n  Nothing was compared with recorded numbers; name their folder with --fixtures.\n");
  } else {
    io.print("\n  Compared with {} files of {}.\n", findings.n_fixtures, printable(findings.fixtures));
  }
  for (const std::string& reason : findings.left_out) io.print("  Left out: {}.\n", printable(reason));
  const auto failures = failures_of(findings);
  if (failures.empty()) {
    io.print("\n{}\n", io.styled(Style::green, fmt::format("All {} checks passed.", findings.checks.size())));
    return;
  }
  io.print("\n{}\n", io.styled(Style::red, fmt::format("{} of {} checks failed:", failures.size(),
                                                       findings.checks.size())));
  for (const Check* check : failures) {
    const std::string reason = check->problem.empty()
                                   ? fmt::format("off by {}, allowed {}", error_text(check->max_error),
                                                 tolerance_text(check->subject))
                                   : printable(check->problem);
    io.print("  {} {} on {} against {}: {}\n", check->subject.operation, check->subject.format, check->device,
             printable(check->against), reason);
  }
}

void print_self_test(const Console& io, const SelfTest& test) {
  Table figures({{"harness", Table::Align::left}, {"score"}, {"published"}, {""}});
  for (const Figure& figure : test.figures) {
    figures.add({std::string(name_of(figure.format)), figure.found, std::string(figure.published),
                 figure.found == figure.published ? "" : "FAIL"});
  }
  Table parities({{"the same in two ways", Table::Align::left}, {"difference"}, {"may be"}, {""}});
  for (const Parity& parity : test.parities) {
    parities.add({parity.name, error_text(parity.difference), error_text(parity.tolerance),
                  parity.difference <= parity.tolerance ? "" : "FAIL"});
  }
  Table runtime({{"cache format", Table::Align::left}, {"q . x"}, {"error"}});
  for (const RuntimeScore& score : test.runtime) {
    runtime.add({std::string(name_of(score.format)), fmt::format("{:.6f}", score.score),
                 fmt::format("{:+.6f}", score.score - test.exact)});
  }
  io.print("{}\n{}\n{}\n", figures.text(io), parities.text(io), runtime.text(io));
  io.print(
      "  Exactly, q . x = {:.6f}. The turbo figures are rotated keys times a query that is not: no "
      "estimates.\n\n",
      test.exact);
  io.print("{}\n", test.has_passed() ? io.styled(Style::green, "The published figures are reproduced.")
                                     : io.styled(Style::red, "Some figures differ from what was published."));
}

}  // namespace parlance
