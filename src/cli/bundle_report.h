// What `parlance bundle` prints.
#pragma once

#include "bundle/verify.h"
#include "cli/terminal/console.h"
#include "json/json.h"

namespace parlance {

// Files, kernels and memory, each with whether it is as the manifest says.
void print_verification(const Console& io, const BundleReport& report);
// Models, sizes, licences and scores.
void print_description(const Console& io, const BundleReport& report);

Json to_json(const BundleReport& report);

}  // namespace parlance
