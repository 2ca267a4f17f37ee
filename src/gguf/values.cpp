// Metadata values as numbers and text, with errors that name key, expectation and what was found.
#include <algorithm>
#include <cstring>
#include <limits>

#include "gguf/contents.h"
#include "gguf/reader.h"

namespace parlance {

namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

bool is_integer(GgufType type) {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::u16:
    case GgufType::i16:
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::u64:
    case GgufType::i64:
      return true;
    default:
      return false;
  }
}

bool is_number(GgufType type) {
  return is_integer(type) || type == GgufType::f32 || type == GgufType::f64;
}

// An integer of the given type; nothing when it is a u64 beyond i64.
std::optional<int64_t> load_integer(GgufType type, const std::byte* at) {
  switch (type) {
    case GgufType::u8:
      return load<uint8_t>(at);
    case GgufType::i8:
      return load<int8_t>(at);
    case GgufType::u16:
      return load<uint16_t>(at);
    case GgufType::i16:
      return load<int16_t>(at);
    case GgufType::u32:
      return load<uint32_t>(at);
    case GgufType::i32:
      return load<int32_t>(at);
    case GgufType::i64:
      return load<int64_t>(at);
    default:
      break;
  }
  const uint64_t value = load<uint64_t>(at);
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return static_cast<int64_t>(value);
}

double load_number(GgufType type, const std::byte* at) {
  switch (type) {
    case GgufType::f32:
      return load<float>(at);
    case GgufType::f64:
      return load<double>(at);
    case GgufType::u64:
      return static_cast<double>(load<uint64_t>(at));
    default:
      return static_cast<double>(*load_integer(type, at));
  }
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// "u32", "array of string".
std::string type_text(const GgufValue& value) {
  if (value.type == GgufType::array) return fmt::format("array of {}", name_of(value.element_type));
  return std::string(name_of(value.type));
}

tl::unexpected<Error> wrong_type(const GgufFile& file, std::string_view key, std::string_view expected,
                                 const GgufValue& value) {
  return fail(ErrorCode::corrupt_file, "{}: key {}: expected {}, found {}; export the model again",
              file.name(), printable(key), expected, type_text(value));
}

// The integer at `at` when it lies in [min, max].
Result<int64_t> integer_in(const GgufFile& file, std::string_view key, GgufType type, const std::byte* at,
                           int64_t min, int64_t max) {
  const std::optional<int64_t> value = load_integer(type, at);
  if (value && *value >= min && *value <= max) return *value;
  const std::string found = value ? fmt::format("{}", *value) : fmt::format("{}", load<uint64_t>(at));
  return fail(ErrorCode::corrupt_file,
              "{}: key {}: expected an integer from {} to {}, found {}; export the model again", file.name(),
              printable(key), min, max, found);
}

template <class T>
Result<T> required(const GgufFile& file, std::string_view key, std::string_view expected,
                   Result<std::optional<T>> found) {
  if (!found) return tl::unexpected<Error>(std::move(found).error());
  if (*found) return **std::move(found);
  return fail(ErrorCode::not_found,
              "{}: key {} is missing, expected {}; export the model again with a current tool", file.name(),
              printable(key), expected);
}

}  // namespace

std::string_view GgufStringArray::next() {
  // The lengths were checked when the file was opened. The clamps hold even when another program writes into
  // the mapped file in between.
  uint64_t size = 0;
  if (rest_.size() >= sizeof size) {
    size = load<uint64_t>(rest_.data());
    rest_ = rest_.subspan(sizeof size);
  }
  size = std::min<uint64_t>(size, rest_.size());
  const std::string_view text = as_text(rest_.first(static_cast<size_t>(size)));
  rest_ = rest_.subspan(static_cast<size_t>(size));
  --left_;
  return text;
}

Result<std::optional<std::string_view>> GgufFile::find_string(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (value->type != GgufType::string) return wrong_type(*this, key, "a string", *value);
  return as_text(value->bytes);
}

Result<std::optional<int64_t>> GgufFile::find_int(std::string_view key, int64_t min, int64_t max) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (!is_integer(value->type)) return wrong_type(*this, key, "an integer", *value);
  return integer_in(*this, key, value->type, value->bytes.data(), min, max);
}

Result<std::optional<double>> GgufFile::find_float(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (!is_number(value->type)) return wrong_type(*this, key, "a number", *value);
  return load_number(value->type, value->bytes.data());
}

Result<std::optional<bool>> GgufFile::find_bool(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (value->type != GgufType::boolean) return wrong_type(*this, key, "a bool", *value);
  return value->bytes[0] != std::byte{0};
}

Result<std::string_view> GgufFile::get_string(std::string_view key) const {
  return required(*this, key, "a string", find_string(key));
}

Result<int64_t> GgufFile::get_int(std::string_view key, int64_t min, int64_t max) const {
  return required(*this, key, "an integer", find_int(key, min, max));
}

Result<double> GgufFile::get_float(std::string_view key) const {
  return required(*this, key, "a number", find_float(key));
}

Result<std::optional<GgufStringArray>> GgufFile::find_strings(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (value->type != GgufType::array || value->element_type != GgufType::string) {
    return wrong_type(*this, key, "an array of strings", *value);
  }
  return GgufStringArray(*value);
}

Result<std::optional<std::vector<int64_t>>> GgufFile::find_ints(std::string_view key, int64_t min,
                                                                int64_t max) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  const GgufType type = value->type == GgufType::array ? value->element_type : value->type;
  if (!is_integer(type)) return wrong_type(*this, key, "an array of integers", *value);
  std::vector<int64_t> integers(static_cast<size_t>(value->n_elements));
  const std::byte* at = value->bytes.data();
  for (int64_t& integer : integers) {
    PARLANCE_TRY(integer, integer_in(*this, key, type, at, min, max));
    at += gguf_scalar_bytes(type);
  }
  return integers;
}

Result<std::optional<std::vector<float>>> GgufFile::find_floats(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (value->type != GgufType::array || !is_number(value->element_type)) {
    return wrong_type(*this, key, "an array of numbers", *value);
  }
  std::vector<float> numbers(static_cast<size_t>(value->n_elements));
  const std::byte* at = value->bytes.data();
  for (float& number : numbers) {
    number = static_cast<float>(load_number(value->element_type, at));
    at += gguf_scalar_bytes(value->element_type);
  }
  return numbers;
}

Result<std::optional<std::vector<bool>>> GgufFile::find_bools(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (value->type != GgufType::array || value->element_type != GgufType::boolean) {
    return wrong_type(*this, key, "an array of bools", *value);
  }
  std::vector<bool> bools;
  for (const std::byte byte : value->bytes) bools.push_back(byte != std::byte{0});
  return bools;
}

}  // namespace parlance
