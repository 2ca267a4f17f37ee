// A place in the grid of codes.
#pragma once

#include <compare>
#include <cstdint>

namespace parlance {

struct CodeSlot {
  int64_t codebook, frame;

  auto operator<=>(const CodeSlot&) const = default;
};

}  // namespace parlance
