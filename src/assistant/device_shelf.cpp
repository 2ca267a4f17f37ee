#include "assistant/device_shelf.h"

#include "devices/devices.h"
#include "kernels/cpu/cpu_device.h"

namespace parlance {

Result<std::shared_ptr<Device>> DeviceShelf::get(const std::string& name, CpuRank rank) {
  const std::lock_guard lock(mutex_);
  const bool is_cpu = name == "cpu";
  std::weak_ptr<Device>& place = is_cpu ? processors_[rank] : devices_[name];
  if (auto known = place.lock()) return known;
  std::shared_ptr<Device> device;
  if (is_cpu) {
    for (const auto& [other_rank, other] : processors_) {
      if (const auto known = other.lock()) device = share_cpu_device(*known, static_cast<int>(rank));
      if (device) break;
    }
  }
  if (!device) {
    PARLANCE_TRY(device, make_device(name, n_threads_, {.is_deterministic = is_deterministic_}));
    if (is_cpu) device = share_cpu_device(*device, static_cast<int>(rank));
  }
  place = device;
  return device;
}

}  // namespace parlance
