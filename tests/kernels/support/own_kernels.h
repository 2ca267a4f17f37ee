// Instruction sets by what they compute with: many operations have one kernel for several sets of a CPU,
// which is tested once.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/kernels.h"
#include "kernels/op_table.h"

namespace parlance::test {

template <class Args>
bool is_same(const Cell<Args>& a, const Cell<Args>& b) {
  return a.run == b.run && a.scratch == b.scratch;
}
template <class Cells, size_t n>
bool is_same(const std::array<Cells, n>& a, const std::array<Cells, n>& b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](const Cells& x, const Cells& y) { return is_same(x, y); });
}

// Whether two sets do operations, which are members of OpTable, by the same functions.
template <class... Cells>
bool share_kernels(Isa a, Isa b, Cells OpTable::*... operations) {
  for (const bool deterministic : {false, true}) {
    const OpTable &x = cpu_op_table(a, deterministic), &y = cpu_op_table(b, deterministic);
    if (!(is_same(x.*operations, y.*operations) && ...)) return false;
  }
  return true;
}

// The sets of this CPU with kernels of their own for one of the operations: of those that share all of them
// the plainest. Without operations all sets.
template <class... Cells>
std::vector<Isa> isas_with_own(Cells OpTable::*... operations) {
  std::vector<Isa> list;
  for (const Isa isa : available_isas()) {
    const bool is_tested = sizeof...(operations) > 0 && std::any_of(list.begin(), list.end(), [&](Isa other) {
                             return share_kernels(isa, other, operations...);
                           });
    if (!is_tested) list.push_back(isa);
  }
  return list;
}

}  // namespace parlance::test
