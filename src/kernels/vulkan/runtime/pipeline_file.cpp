#include "kernels/vulkan/runtime/pipeline_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>

#include "base/os/environment.h"
#include "base/os/file.h"
#include "kernels/vulkan/runtime/instance.h"

namespace parlance::vulkan {

namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'p', 'l', 'v', 'k', 'p', 'i', 'p', '1'};
constexpr size_t kMostBytes = size_t{256} << 20;  // of a file that is read

// In front of the driver's bytes. Drivers check what they wrote themselves, some not well.
struct Header {
  std::array<char, 8> magic;
  uint64_t n_bytes;
  uint64_t hash;
};

// FNV-1a, of words for speed.
uint64_t hash_of(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 32;
  }
  return hash;
}

template <size_t n>
std::string hex(const uint8_t (&bytes)[n]) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

std::optional<fs::path> pipeline_file_of(const PhysicalDevice& device) {
  fs::path folder = environment("XDG_CACHE_HOME").value_or("");
  if (!folder.is_absolute()) {
    const fs::path home = environment("HOME").value_or("");
    if (!home.is_absolute()) return std::nullopt;
    folder = home / ".cache";
  }
  auto ids = typed<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  auto properties = typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  properties.pNext = &ids;
  vkGetPhysicalDeviceProperties2(device.handle, &properties);
  const std::string name = fmt::format("vulkan-{}-{}-{:x}.pipelines", hex(ids.deviceUUID),
                                       hex(ids.driverUUID), properties.properties.driverVersion);
  return folder / "parlance" / name;
}

std::optional<std::span<const std::byte>> driver_bytes_in(std::span<const std::byte> file) {
  Header header;
  if (file.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof header);
  const auto bytes = file.subspan(sizeof header);
  if (header.magic != kMagic || header.n_bytes != bytes.size() || header.hash != hash_of(bytes))
    return std::nullopt;
  return bytes;
}

std::optional<std::vector<std::byte>> read_pipeline_file(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  const auto file = ReadableFile::open(path);
  if (!file || file->size() > kMostBytes) return std::nullopt;
  std::vector<std::byte> all(file->size());
  if (!file->read(0, all)) return std::nullopt;
  const auto bytes = driver_bytes_in(all);
  if (!bytes) return std::nullopt;
  return std::vector<std::byte>(bytes->begin(), bytes->end());
}

void write_pipeline_file(const fs::path& path, std::span<const std::byte> driver_bytes) {
  const Header header{kMagic, driver_bytes.size(), hash_of(driver_bytes)};
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  auto file = AtomicFile::create(path);
  if (file && file->write(std::as_bytes(std::span(&header, 1))) && file->write(driver_bytes))
    (void)file->commit();
}

}  // namespace parlance::vulkan
