// The devices that regions run on.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "kernels/device.h"

namespace parlance {

// Work that shares the CPU: a lower rank goes first. Hearing does, since somebody is speaking now; then
// speech that is awaited; then what is said later.
enum class CpuRank : int { ears, mouth, mind };

// One device for each name, which all share; of the CPU, one for each rank on the same threads. A device is
// made when it is first asked for and goes with its last user. From any thread.
class DeviceShelf {
 public:
  explicit DeviceShelf(int n_threads, bool is_deterministic = false)
      : n_threads_(n_threads), is_deterministic_(is_deterministic) {}

  // Errors: as make_device().
  Result<std::shared_ptr<Device>> get(const std::string& name, CpuRank rank);

 private:
  const int n_threads_;
  const bool is_deterministic_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Device>, std::less<>> devices_;
  std::map<CpuRank, std::weak_ptr<Device>> processors_;
};

}  // namespace parlance
