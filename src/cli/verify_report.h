// What `parlance verify` found, as tables for people and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/console.h"
#include "json/json.h"
#include "verify/check.h"
#include "verify/self_test.h"

namespace parlance {

struct VerifyFindings {
  std::vector<verify::Check> checks;
  std::vector<std::string> devices;
  std::string fixtures;  // their folder; empty: there were none
  size_t n_fixtures = 0;
  std::vector<std::string> left_out;  // "rows_tbq3_k.json: 'tbq3_k' is no cache format of this program"
};

std::vector<const verify::Check*> failures_of(const VerifyFindings& findings);

void print_findings(const Console& io, const VerifyFindings& findings);
void print_self_test(const Console& io, const verify::SelfTest& test);

// The capabilities report.
Json to_json(const VerifyFindings& findings);
Json to_json(const verify::SelfTest& test);

}  // namespace parlance
