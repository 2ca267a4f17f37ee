// The containers that Silero weights come in, each read into the same list of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace parlance::vad {

struct FileTensor {
  std::string name;
  DType dtype;                       // f32 or f16
  std::vector<int64_t> shape;        // the last dimension is the fastest; empty for a single value
  std::span<const std::byte> bytes;  // of the file, at any alignment; as many as shape and type say
  bool is_order_open = false;        // the shape may be listed the other way round
};
using FileTensors = std::vector<FileTensor>;

// Whether the bytes begin as a file of the kind does.
bool is_gguf(std::span<const std::byte> bytes);
bool is_whisper_bin(std::span<const std::byte> bytes);
bool is_safetensors(std::span<const std::byte> bytes);

// The tensors of a file, as views on its bytes; `name` stands for the file in messages.
Result<FileTensors> read_gguf_tensors(std::span<const std::byte> bytes, const std::string& name);
Result<FileTensors> read_whisper_bin_tensors(std::span<const std::byte> bytes, const std::string& name);
Result<FileTensors> read_safetensors(std::span<const std::byte> bytes, const std::string& name);

// Text of a file as messages show it: short, on one line.
std::string printable(std::string_view text);

// "[128, 129, 3]"
std::string text_of(std::span<const int64_t> shape);

}  // namespace parlance::vad
