// Disks: how much room there is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace parlance {

// Bytes that this user may still write where `path` is or will be; none where the system does not say.
std::optional<uint64_t> free_disk_bytes(const std::filesystem::path& path);

}  // namespace parlance
