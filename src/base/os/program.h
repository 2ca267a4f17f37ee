// Other programs, run to their end.
#pragma once

#include <string>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"

namespace parlance {

// Whether a program of this name is found where the system looks for programs.
bool is_program(const std::string& name);

// Runs it with these arguments, without input, its output unseen. Errors: it cannot be started; it ends with
// anything but 0; cancelled, which ends it.
Result<void> run_program(const std::string& name, const std::vector<std::string>& arguments,
                         const Cancellation& cancellation = {});

}  // namespace parlance
