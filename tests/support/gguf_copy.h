// A GGUF file again, with other metadata.
#pragma once

#include <filesystem>
#include <span>

#include "gguf/reader.h"
#include "gguf/writer.h"

namespace parlance::test {

// The same tensors; change(writer) sets or replaces keys.
template <typename Change>
Result<void> copy_gguf(const std::filesystem::path& from, const std::filesystem::path& to, Change change) {
  PARLANCE_TRY(const GgufFile file, GgufFile::open(from));
  GgufWriter writer;
  for (const auto& [key, value] : file.metadata()) writer.copy(key, value);
  change(writer);
  for (const GgufTensor& tensor : file.tensors())
    writer.add_tensor(tensor.name, tensor.dtype, std::span(tensor.ne).first(tensor.n_dims));
  PARLANCE_CHECK(writer.begin(to));
  for (const GgufTensor& tensor : file.tensors()) PARLANCE_CHECK(writer.write_tensor(tensor.bytes));
  return writer.finish();
}

}  // namespace parlance::test
