// Where this program keeps what it can make again.
#pragma once

#include <filesystem>
#include <optional>

namespace parlance {

// $XDG_CACHE_HOME/parlance, else ~/.cache/parlance; none where there is no such place.
std::optional<std::filesystem::path> cache_folder();

}  // namespace parlance
