// How an operation's function hands its arguments to the device's kernel.
#pragma once

#include <algorithm>
#include <cassert>
#include <string>
#include <string_view>

#include "kernels/device.h"

namespace parlance {

// Runs a cell, or during a dry run notes what it needs. A cancelled step skips its remaining kernels.
template <class Args>
void submit(Stream& s, const Cell<Args>& cell, const Args& args, std::string_view cell_name,
            std::string_view tensor) {
  if (Plan* plan = s.plan()) {
    if (!cell.run) {
      plan->missing.push_back(tensor.empty() ? std::string(cell_name)
                                             : fmt::format("{} ({})", cell_name, tensor));
    } else if (cell.scratch) {
      plan->scratch_bytes = std::max(plan->scratch_bytes, cell.scratch(args, s.device().n_threads()));
    }
    return;
  }
  assert(cell.run && "the dry run reports missing kernels");
  assert(!cell.scratch || cell.scratch(args, s.device().n_threads()) <= s.scratch().size());
  if (s.cancelled()) return;
  cell.run(s, args);
}

}  // namespace parlance
