#include "cli/metadata_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace parlance {

namespace {

constexpr uint64_t kShownElements = 6;

template <class T>
T read(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

Json scalar_json(GgufType type, std::span<const std::byte> bytes) {
  switch (type) {
    case GgufType::u8:
      return read<uint8_t>(bytes);
    case GgufType::i8:
      return read<int8_t>(bytes);
    case GgufType::u16:
      return read<uint16_t>(bytes);
    case GgufType::i16:
      return read<int16_t>(bytes);
    case GgufType::u32:
      return read<uint32_t>(bytes);
    case GgufType::i32:
      return read<int32_t>(bytes);
    case GgufType::u64:
      return read<uint64_t>(bytes);
    case GgufType::i64:
      return read<int64_t>(bytes);
    case GgufType::f32:
      return static_cast<double>(read<float>(bytes));
    case GgufType::f64:
      return read<double>(bytes);
    case GgufType::boolean:
      return read<uint8_t>(bytes) != 0;
    case GgufType::string:
      return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    case GgufType::array:
      break;
  }
  return {};
}

std::string scalar_text(GgufType type, std::span<const std::byte> bytes) {
  // Shortest decimals that read back as the same float; JSON would show those of the double.
  if (type == GgufType::f32) return fmt::format("{}", read<float>(bytes));
  if (type == GgufType::string) return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  return scalar_json(type, bytes).line();
}

// Calls `use` with the bytes of each of the first elements.
template <class Use>
void first_elements(const GgufValue& array, const Use& use) {
  const uint64_t n = std::min(array.n_elements, kShownElements);
  if (array.element_type == GgufType::string) {
    GgufStringArray strings(array);
    for (uint64_t i = 0; i < n; ++i) use(std::as_bytes(std::span(strings.next())));
    return;
  }
  const size_t size = gguf_scalar_bytes(array.element_type);
  for (uint64_t i = 0; i < n; ++i) use(array.bytes.subspan(i * size, size));
}

}  // namespace

std::string type_text(const GgufValue& value) {
  if (value.type != GgufType::array) return std::string(name_of(value.type));
  return fmt::format("{} [{}]", name_of(value.element_type), value.n_elements);
}

std::string value_text(const GgufValue& value) {
  if (value.type != GgufType::array) return scalar_text(value.type, value.bytes);
  std::string text;
  first_elements(value, [&](std::span<const std::byte> bytes) {
    text += (text.empty() ? "" : ", ") + scalar_text(value.element_type, bytes);
  });
  return value.n_elements > kShownElements ? text + ", …" : text;
}

Json value_json(const GgufValue& value) {
  if (value.type != GgufType::array) return scalar_json(value.type, value.bytes);
  Json first = Json::array();
  first_elements(
      value, [&](std::span<const std::byte> bytes) { first.push(scalar_json(value.element_type, bytes)); });
  return Json::object({{"length", value.n_elements}, {"first", first}});
}

}  // namespace parlance
