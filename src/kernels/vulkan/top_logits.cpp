// top_logits with Vulkan: groups that look at parts of rows, then one per row that looks again at what may be
// among the highest.
#include <algorithm>
#include <bit>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

// As in the shaders.
constexpr int64_t kMostTopParts = 32, kTopGroups = 16, kTopPartWords = 3 + kTopGroups, kMostTopFound = 1024;
constexpr int64_t kFewestTopElements = 128;  // of a part
// Where a row has fewer groups than are wanted, all of it fits.
static_assert((kMostTopLogits / kTopGroups) * kFewestTopElements <= kMostTopFound);

struct PartsPush {
  uint32_t n, n_rows, n_parts;
  uint32_t x_first;
};

struct TopLogitsPush {
  uint32_t n, n_rows, n_parts;
  uint32_t x_first, out_first;
  uint32_t k;
};

int64_t parts_of(const TopLogitsArgs& args) {
  return std::clamp<int64_t>(args.x.ne[0] / kFewestTopElements, 1, kMostTopParts);
}

// Every device has groups of 128 invocations.
void run_top_logits(Stream& s, const TopLogitsArgs& args) {
  const int64_t n_rows = args.x.n_rows(), n_parts = parts_of(args);
  const PartsPush parts{static_cast<uint32_t>(args.x.ne[0]), static_cast<uint32_t>(n_rows),
                        static_cast<uint32_t>(n_parts), word_offset(args.x)};
  const uint32_t most_threads = limits_of(s).max_group_invocations;
  const uint32_t n_part_threads = std::bit_floor(std::min(256u, most_threads));
  dispatch(s, "top_logits_parts", {n_part_threads}, {operand_of(args.x), scratch_of(s)}, parts,
           folded_groups(n_rows * n_parts));
  const TopLogitsPush push{parts.n,       parts.n_rows,          parts.n_parts,
                           parts.x_first, word_offset(args.out), static_cast<uint32_t>(args.k())};
  dispatch(s, "top_logits", {std::bit_floor(std::min(1024u, most_threads)), n_part_threads},
           {operand_of(args.x), scratch_of(s), operand_of(args.out)}, push, folded_groups(n_rows));
}

size_t scratch_bytes(const TopLogitsArgs& args, int) {
  return static_cast<size_t>(args.x.n_rows() * parts_of(args) * kTopPartWords) * sizeof(uint32_t);
}

}  // namespace

void fill_top_logits(OpTable& table) {
  table.top_logits = {run_top_logits, scratch_bytes};
}

}  // namespace parlance::vulkan
