#include "convert/safetensors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/checked.h"
#include "gguf/contents.h"
#include "json/json.h"

namespace parlance {

namespace {

constexpr size_t kMostDims = 8;

struct SourceTypeRow {
  std::string_view name;
  uint32_t n_bytes;
  std::optional<DType> dtype;
};
constexpr std::array kSourceTypes = {
    SourceTypeRow{"F32", 4, DType::f32},       SourceTypeRow{"F16", 2, DType::f16},
    SourceTypeRow{"BF16", 2, DType::bf16},     SourceTypeRow{"F64", 8, std::nullopt},
    SourceTypeRow{"I64", 8, std::nullopt},     SourceTypeRow{"U64", 8, std::nullopt},
    SourceTypeRow{"I32", 4, std::nullopt},     SourceTypeRow{"U32", 4, std::nullopt},
    SourceTypeRow{"I16", 2, std::nullopt},     SourceTypeRow{"U16", 2, std::nullopt},
    SourceTypeRow{"I8", 1, std::nullopt},      SourceTypeRow{"U8", 1, std::nullopt},
    SourceTypeRow{"BOOL", 1, std::nullopt},    SourceTypeRow{"F8_E4M3", 1, std::nullopt},
    SourceTypeRow{"F8_E5M2", 1, std::nullopt},
};

template <class... Args>
tl::unexpected<Error> bad_header(std::string_view file, fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::corrupt_file, "{}: {}; fetch the file again", file,
              fmt::format(format, std::forward<Args>(args)...));
}

std::optional<std::vector<uint64_t>> naturals(const std::optional<Json>& list, size_t most) {
  const auto elements = list ? list->elements() : std::nullopt;
  if (!elements || elements->size() > most) return std::nullopt;
  std::vector<uint64_t> values;
  for (const Json& element : *elements) {
    const auto value = element.integer();
    if (!value || *value < 0) return std::nullopt;
    values.push_back(static_cast<uint64_t>(*value));
  }
  return values;
}

Result<SafeTensor> parse_entry(const std::string& name, const Json& entry, uint64_t data_begin,
                               uint64_t data_bytes, std::string_view file) {
  SafeTensor tensor{.name = name};
  const auto type = entry.member("dtype");
  const auto shape = naturals(entry.member("shape"), kMostDims);
  const auto offsets = naturals(entry.member("data_offsets"), 2);
  tensor.type_name = type ? type->text().value_or("") : "";
  const auto row = std::ranges::find(kSourceTypes, tensor.type_name, &SourceTypeRow::name);
  if (!shape || !offsets || offsets->size() != 2 || row == kSourceTypes.end()) {
    return bad_header(file, "tensor {} has no dtype, shape and data_offsets that can be read",
                      printable(name));
  }
  std::optional<uint64_t> n_bytes = row->n_bytes;
  for (const uint64_t size : *shape) {
    tensor.shape.push_back(static_cast<int64_t>(size));
    n_bytes = n_bytes ? checked_mul(*n_bytes, size) : n_bytes;
  }
  const uint64_t begin = (*offsets)[0], end = (*offsets)[1];
  if (begin > end || end > data_bytes || !n_bytes || *n_bytes != end - begin) {
    return bad_header(file, "tensor {} ({} [{}]) cannot be bytes {} to {} of {}", printable(name),
                      tensor.type_name, fmt::join(*shape, ", "), begin, end, data_bytes);
  }
  tensor.dtype = row->dtype;
  tensor.offset = data_begin + begin;
  tensor.n_bytes = end - begin;
  return tensor;
}

}  // namespace

int64_t SafeTensor::n_values() const {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

Result<std::vector<SafeTensor>> parse_safetensors_header(std::string_view header, uint64_t data_begin,
                                                         uint64_t data_bytes, std::string_view name) {
  const auto json = Json::parse_request(header);
  const auto members = json ? json->members() : std::nullopt;
  if (!members) return bad_header(name, "its header is no JSON object");
  std::vector<SafeTensor> tensors;
  for (const auto& [key, entry] : *members) {
    if (key == "__metadata__") continue;
    PARLANCE_TRY(tensors.emplace_back(), parse_entry(key, entry, data_begin, data_bytes, name));
  }
  std::ranges::stable_sort(tensors, {}, [](const SafeTensor& t) { return std::pair(t.offset, t.n_bytes); });
  uint64_t at = data_begin;
  for (const SafeTensor& tensor : tensors) {
    if (tensor.offset != at) {
      return bad_header(name, "tensor {} begins at byte {}, where {} is expected", printable(tensor.name),
                        tensor.offset, at);
    }
    at += tensor.n_bytes;
  }
  if (at != data_begin + data_bytes)
    return bad_header(name, "there are {} bytes of no tensor", data_begin + data_bytes - at);
  return tensors;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  PARLANCE_TRY(ReadableFile opened, ReadableFile::open(path));
  SafetensorsFile file(std::move(opened));
  const std::string name = path.string();
  constexpr uint64_t kLengthBytes = 8;
  std::array<std::byte, kLengthBytes> length;
  const uint64_t size = file.file_.size();
  if (size < kLengthBytes) return bad_header(name, "it has {} bytes", size);
  PARLANCE_CHECK(file.file_.read(0, length));
  uint64_t n_header = 0;
  std::memcpy(&n_header, length.data(), kLengthBytes);
  if (n_header > size - kLengthBytes || n_header > kMostSafetensorsHeaderBytes) {
    return bad_header(name, "its header cannot have {} bytes, the file has {}", n_header, size);
  }
  std::string header(n_header, '\0');
  PARLANCE_CHECK(file.file_.read(kLengthBytes, std::as_writable_bytes(std::span(header))));
  const uint64_t begin = kLengthBytes + n_header;
  PARLANCE_TRY(file.tensors_, parse_safetensors_header(header, begin, size - begin, name));
  return file;
}

Result<std::vector<std::byte>> SafetensorsFile::read(const SafeTensor& tensor) const {
  std::vector<std::byte> bytes(tensor.n_bytes);
  PARLANCE_CHECK(file_.read(tensor.offset, bytes));
  return bytes;
}

}  // namespace parlance
