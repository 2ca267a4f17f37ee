#include "measure/device_peaks.h"

#include "kernels/copy_bandwidth.h"

namespace parlance {

Result<Roofline> measure_peaks(Device& device, Isa isa) {
  if (device.name() == "cpu") return measure_roofline(isa, device.n_threads());
  PARLANCE_TRY(const CopyBandwidth bandwidth, measure_copy_bandwidth(device));
  return Roofline{.read_bytes_per_second = bandwidth.inside};
}

}  // namespace parlance
