// A hash that says which model a file holds.
#pragma once

#include <array>
#include <cstddef>

namespace parlance {

using ModelHash = std::array<std::byte, 16>;

}  // namespace parlance
