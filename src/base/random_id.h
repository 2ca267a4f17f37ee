// Names that nobody can guess.
#pragma once

#include <string>
#include <string_view>

namespace parlance {

// The prefix and n characters of [A-Za-z0-9], from the system's random source.
std::string random_id(std::string_view prefix, size_t n = 24);

}  // namespace parlance
