// A GGUF file again, with damage in a tensor.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "gguf/reader.h"
#include "support/fixtures.h"

namespace parlance::test {

// The same file, but for every value of a row of an f32 tensor.
inline void damage_gguf(const std::filesystem::path& from, const std::filesystem::path& to,
                        std::string_view tensor, int64_t row, float value) {
  std::string bytes = read_text(from);
  const auto file = GgufFile::open(from);
  ASSERT_TRUE(file) << file.error().message;
  const auto found =
      std::ranges::find_if(file->tensors(), [&](const GgufTensor& t) { return t.name == tensor; });
  ASSERT_NE(found, file->tensors().end()) << tensor;
  ASSERT_EQ(found->dtype, DType::f32);
  const std::vector<float> values(static_cast<size_t>(found->ne[0]), value);
  const size_t row_bytes = values.size() * sizeof(float);
  const auto at = static_cast<size_t>(found->bytes.data() - file->bytes().data());
  ASSERT_LE((static_cast<size_t>(row) + 1) * row_bytes, found->bytes.size());
  std::memcpy(bytes.data() + at + static_cast<size_t>(row) * row_bytes, values.data(), row_bytes);
  std::ofstream(to, std::ios::binary) << bytes;
}

}  // namespace parlance::test
