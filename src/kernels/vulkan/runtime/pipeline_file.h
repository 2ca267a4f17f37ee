// What a driver has made of shaders, kept on disk so that the next start need not compile them again: in
// $XDG_CACHE_HOME/parlance, else ~/.cache/parlance; a file for each device and version of its driver.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace parlance::vulkan {

struct PhysicalDevice;

// Where a device's file is; none where there is no such folder.
std::optional<std::filesystem::path> pipeline_file_of(const PhysicalDevice& device);

// The driver's bytes among those of a file; none where something has changed them.
std::optional<std::span<const std::byte>> driver_bytes_in(std::span<const std::byte> file);

// The driver's bytes in a file; none where there is no file, or another program or half a disk has changed
// it.
std::optional<std::vector<std::byte>> read_pipeline_file(const std::filesystem::path& path);

// Where it cannot be written, the next start compiles again.
void write_pipeline_file(const std::filesystem::path& path, std::span<const std::byte> driver_bytes);

}  // namespace parlance::vulkan
