// Metal kernels as C++: the text of a generated shader is prepared for metal_shim.h, compiled with the
// program's own compiler and loaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "shaders/support/metal_shim.h"

namespace parlance::test {

// What the loaded code exports.
struct MetalKernel {
  // Runs one thread of a workgroup.
  void (*run)(const metal_shim::Position& position) = nullptr;
  // Before a launch.
  void (*set)(const metal_shim::Host* host, const metal_shim::Binding* bindings, int n_bindings) = nullptr;
  uint32_t n_threads = 0;  // of a workgroup
};

// Values of constants, by their indices.
using ConstantValues = std::map<uint32_t, uint32_t>;

// C++ for the text of kernel `name`: `macros` are those that size arrays, `functions` its function constants.
// Throws std::runtime_error for what breaks Metal's rules: more than 31 buffers, or double.
std::string prepared_kernel(const std::string& text, const std::string& name, const ConstantValues& macros,
                            const ConstantValues& functions);

// Compiles what was not compiled before (files in `folder`, named after what is in them) and loads it.
MetalKernel load_kernel(const std::string& prepared, const std::string& name,
                        const std::filesystem::path& folder);

}  // namespace parlance::test
