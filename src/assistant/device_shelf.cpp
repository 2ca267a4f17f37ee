#include "assistant/device_shelf.h"

#include "base/parameter.h"
#include "devices/devices.h"
#include "kernels/cpu/cpu_device.h"

namespace parlance {

Result<std::shared_ptr<Device>> DeviceShelf::make(const std::string& name) const {
  if (!is_deterministic_) return make_device(name, n_threads_);
  if (name == "cpu") return make_cpu_device({.n_threads = n_threads_, .deterministic = true});
  return fail(
      ErrorCode::unsupported,
      "device {}: its kernels for prompts and for answers round differently; use {} to compute the same "
      "bits wherever a text is cut",
      name, set_to(Parameter::device, "cpu"));
}

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
    PARLANCE_TRY(device, make(name));
    if (is_cpu) device = share_cpu_device(*device, static_cast<int>(rank));
  }
  place = device;
  return device;
}

}  // namespace parlance
