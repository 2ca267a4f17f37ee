#pragma once

#include <string_view>

namespace parlance {

// "0.1.0"
std::string_view program_version();

}  // namespace parlance
