// Recorded arrays in NumPy's file formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace parlance::test {

// Row-major: the last dimension is the fastest.
struct NpyArray {
  std::vector<int64_t> shape;
  std::vector<double> values;  // of any element type; f32 and i32 are exact

  std::vector<float> as_floats() const { return {values.begin(), values.end()}; }
};

// An .npy file, and the members of an .npz file without compression by name ("mag"). Elements are f16, f32,
// f64 or whole numbers of up to 64 bits. A file that is something else fails the running test.
NpyArray read_npy(const std::filesystem::path& path);
std::map<std::string, NpyArray> read_npz(const std::filesystem::path& path);

}  // namespace parlance::test
