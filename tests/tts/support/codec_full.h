// The codec of real sizes that the fixtures describe: its weights come from a formula.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gguf/writer.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance::test {

namespace codec_recipe {

inline uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

inline uint64_t fnv1a(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

struct Row {
  std::string name;
  std::vector<int64_t> ne;  // fastest first
  bool is_one = false;      // values around 1, else around 0
  int exponent = 0;

  int64_t n_elements() const {
    int64_t n = 1;
    for (const int64_t size : ne) n *= size;
    return n;
  }
};

inline std::vector<Row> read_rows(const std::filesystem::path& path) {
  std::vector<Row> rows;
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);  // names of columns
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    Row row;
    std::string shape, kind, exponent;
    std::getline(fields, row.name, '\t');
    std::getline(fields, shape, '\t');
    std::getline(fields, kind, '\t');
    std::getline(fields, exponent, '\t');
    std::istringstream sizes(shape);
    for (std::string size; std::getline(sizes, size, 'x');) row.ne.insert(row.ne.begin(), std::stoll(size));
    row.is_one = kind == "one";
    row.exponent = std::stoi(exponent);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace codec_recipe

// Removes a file at the end of the program's tests.
class RemoveAtEnd : public ::testing::Environment {
 public:
  explicit RemoveAtEnd(std::filesystem::path path) : path_(std::move(path)) {}
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

 private:
  std::filesystem::path path_;
};

// The file, written once into the temporary folder for the program's tests; empty when there is no recipe or
// no room for it.
inline std::filesystem::path full_codec() {
  namespace fs = std::filesystem;
  using namespace codec_recipe;
  const fs::path folder = fixtures_root() / "omnivoice/codec_full";
  if (!fs::exists(folder / "recipe.tsv")) return {};
  const auto recipe = read_json(folder / "recipe.json");
  const uint64_t seed = recipe["seed"];
  const fs::path path =
      fs::path(testing::TempDir()) / fmt::format("parlance-codec-full-{}-{}.gguf", seed, ::getpid());
  if (fs::exists(path)) return path;
  std::error_code ec;
  if (fs::space(path.parent_path(), ec).available < (size_t{2} << 30)) return {};

  GgufWriter writer;
  for (const auto& entry : recipe["metadata"]) {
    const std::string key = entry[0];
    const auto& value = entry[1];
    if (value.is_string()) writer.set_string(key, value.get<std::string>());
    if (value.is_number_integer()) writer.set_u32(key, value.get<uint32_t>());
    if (value.is_number_float()) writer.set_f32(key, value.get<float>());
    if (value.is_array()) writer.set_i32s(key, value.get<std::vector<int32_t>>());
  }
  const std::vector<Row> rows = read_rows(folder / "recipe.tsv");
  for (const Row& row : rows) writer.add_tensor(row.name, DType::f32, row.ne);
  EXPECT_TRUE(writer.begin(path));
  std::vector<float> values;
  for (const Row& row : rows) {
    const uint64_t base = mix(fnv1a(row.name) ^ (seed * 0x9E3779B97F4A7C15));
    values.resize(static_cast<size_t>(row.n_elements()));
    const float scale = std::ldexp(1.0f, -(10 + row.exponent));
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t r = mix(base + (i + 1) * 0x9E3779B97F4A7C15);
      const float q = static_cast<float>(static_cast<int64_t>(r >> 53) - 1024) * scale;
      values[i] = row.is_one ? 1 + q : q;
    }
    EXPECT_TRUE(writer.write_tensor(std::as_bytes(std::span(values))));
  }
  EXPECT_TRUE(writer.finish());
  ::testing::AddGlobalTestEnvironment(new RemoveAtEnd(path));
  return path;
}

}  // namespace parlance::test
