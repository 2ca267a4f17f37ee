// safetensors: u64 length of a JSON header, the header, then the tensors' bytes.
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/checked.h"
#include "vad/weight_file.h"

namespace parlance::vad {

namespace {

using json = nlohmann::json;

constexpr uint64_t kLengthBytes = sizeof(uint64_t);
// The detector's own header has 1.5 KB: the limit keeps the memory of a broken one small.
constexpr uint64_t kMostHeaderBytes = 64 * 1024;

std::optional<DType> dtype_of(const json& value) {
  if (value == "F32") return DType::f32;
  if (value == "F16") return DType::f16;
  return std::nullopt;
}

// Whole numbers that are not negative; nothing when the list holds something else.
std::optional<std::vector<int64_t>> sizes_of(const json& value) {
  if (!value.is_array() || value.size() > 4) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const json& item : value) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > INT32_MAX) return std::nullopt;
    sizes.push_back(item.get<int64_t>());
  }
  return sizes;
}

Result<FileTensor> tensor_of(const std::string& key, const json& value, std::span<const std::byte> data,
                             const std::string& name) {
  constexpr auto kCorrupt = ErrorCode::corrupt_file;
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
      !value.contains("data_offsets")) {
    return fail(kCorrupt, "{}: tensor {} lacks dtype, shape or data_offsets; download the file again", name,
                key);
  }
  const auto dtype = dtype_of(value["dtype"]);
  if (!dtype) return fail(ErrorCode::unsupported, "{}: tensor {} is neither F32 nor F16", name, key);
  auto shape = sizes_of(value["shape"]);
  const auto offsets = sizes_of(value["data_offsets"]);
  if (!shape || !offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1] ||
      static_cast<uint64_t>((*offsets)[1]) > data.size()) {
    return fail(kCorrupt,
                "{}: shape or data_offsets of tensor {} do not fit the file's {} bytes of data; "
                "download it again",
                name, key, data.size());
  }
  const auto first = static_cast<size_t>((*offsets)[0]), last = static_cast<size_t>((*offsets)[1]);
  std::optional<int64_t> n = 1;
  for (const int64_t size : *shape) n = n ? checked_mul(*n, size) : n;
  const std::optional<int64_t> n_bytes =
      n ? checked_mul(*n, static_cast<int64_t>(row_bytes(*dtype, 1))) : std::nullopt;
  if (!n_bytes || static_cast<uint64_t>(*n_bytes) != last - first) {
    return fail(kCorrupt, "{}: tensor {} of shape {} has {} bytes of data; download the file again", name,
                key, text_of(*shape), last - first);
  }
  return FileTensor{key, *dtype, *std::move(shape), data.subspan(first, last - first)};
}

uint64_t header_bytes(std::span<const std::byte> bytes) {
  uint64_t n = 0;
  std::memcpy(&n, bytes.data(), kLengthBytes);
  return n;
}

}  // namespace

bool is_safetensors(std::span<const std::byte> bytes) {
  return bytes.size() > kLengthBytes && bytes[kLengthBytes] == std::byte{'{'};
}

Result<FileTensors> read_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  const uint64_t n_header = header_bytes(bytes);
  if (n_header > kMostHeaderBytes || n_header > bytes.size() - kLengthBytes) {
    return fail(ErrorCode::corrupt_file,
                "{}: the safetensors header has {} bytes, expected at most {} within the file's {}; "
                "download it again",
                name, n_header, kMostHeaderBytes, bytes.size());
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
  const json header = json::parse(text, text + n_header, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) {
    return fail(ErrorCode::corrupt_file, "{}: the safetensors header is not a JSON object; download it again",
                name);
  }
  const auto data = bytes.subspan(kLengthBytes + n_header);
  FileTensors tensors;
  for (const auto& [key, value] : header.items()) {
    if (key == "__metadata__") continue;
    PARLANCE_TRY(auto tensor, tensor_of(printable(key), value, data, name));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace parlance::vad
