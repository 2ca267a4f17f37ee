// What a mistyped word most likely meant.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace parlance {

// Insertions, deletions, replacements and swaps of neighbouring bytes that turn one word into the other.
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate with the least distance; empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace parlance
