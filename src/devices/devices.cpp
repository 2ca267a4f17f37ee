#include "devices/devices.h"

#include <charconv>
#include <optional>

#include "base/parameter.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/metal/metal_device.h"
#include "kernels/vulkan/vulkan_device.h"

namespace parlance {

namespace {

// The number behind the colon; 0 without one, nothing when it is no number.
std::optional<int> index_in(std::string_view name, std::string_view kind) {
  name.remove_prefix(kind.size());
  if (name.empty()) return 0;
  name.remove_prefix(1);
  int index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || end != name.data() + name.size() || index < 0) return std::nullopt;
  return index;
}

bool is_kind(std::string_view name, std::string_view kind) {
  return name.starts_with(kind) && (name.size() == kind.size() || name[kind.size()] == ':');
}

std::string names_of_all() {
  std::string names;
  for (const Backend& backend : list_backends()) {
    if (!backend.devices) continue;
    for (const DeviceInfo& device : *backend.devices) names += (names.empty() ? "" : ", ") + device.name;
  }
  return names;
}

}  // namespace

std::vector<Backend> list_backends() {
  return {{"cpu", list_cpu_devices()}, {"vulkan", list_vulkan_devices()}, {"cuda", list_cuda_devices()}};
}

Result<std::unique_ptr<Device>> make_device(std::string_view name, int n_threads,
                                            const DeviceOptions& options) {
  if (name == "cpu")
    return make_cpu_device({.n_threads = n_threads, .deterministic = options.is_deterministic});
  struct Maker {
    std::string_view kind;
    Result<std::unique_ptr<Device>> (*make)(int index, const DeviceOptions& options);
  };
  // Metal is taken by its name alone: it has never run on Apple's hardware.
  for (const auto& [kind, make] : {Maker{"vulkan", make_vulkan_device}, Maker{"cuda", make_cuda_device},
                                   Maker{"metal", make_metal_device}}) {
    if (!is_kind(name, kind)) continue;
    const std::optional<int> index = index_in(name, kind);
    if (!index) break;
    auto device = make(*index, options);
    if (device) return device;
    return fail(device.error().code, "{} {}", Parameter::device,
                device.error().message);  // which begins with the name
  }
  return fail(ErrorCode::not_found, "{}: there is no device '{}'; this machine has {}", Parameter::device,
              name, names_of_all());
}

}  // namespace parlance
