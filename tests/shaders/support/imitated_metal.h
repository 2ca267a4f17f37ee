// Metal, imitated on the CPU: Apple's classes as far as the host code of kernels/metal uses them (apple/),
// over workgroups of fibers that run the kernels' text. It shows that the host gives kernels what their text
// asks for, in the right order, and keeps Metal's rules as Apple documents them; of Apple's compiler, drivers
// and hardware it shows nothing.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "shaders/support/workgroup.h"

namespace parlance::test {

// Where the kernels' text is, and where compiled ones are kept.
std::filesystem::path metal_folder();
std::filesystem::path metal_build_folder();

struct ImitatedGpu {
  MetalLimits limits = {};
  uint32_t seed = 1;      // of the order in which threads run
  bool is_recent = true;  // of the family Apple7
  bool has_room = true;   // for another buffer
};

// What this machine has from now on; devices that were made of others stay.
void imitate_gpus(std::vector<ImitatedGpu> gpus);

// The host's device on such a GPU, with small tiles, as for drivers on the CPU.
std::unique_ptr<Device> metal_device_on(const ImitatedGpu& gpu, bool has_integer_dot_product = false);

// What make_metal_device() gives on this machine.
Result<std::unique_ptr<Device>> open_metal_device(int index);

// Names of the kernels that have run on any of them.
const std::set<std::string>& launched_kernels();

}  // namespace parlance::test
