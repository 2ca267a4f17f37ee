// GGUF files put together by hand, field by field, so that every field can be wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parlance::test {

// The bytes of a number as they lie in a file.
template <class T>
std::string field(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// A string: its length and its bytes.
inline std::string text_field(std::string_view text) {
  return field<uint64_t>(text.size()) + std::string(text);
}

// The fields of an array value.
inline std::string array_fields(uint32_t element_type, uint64_t count, const std::string& elements) {
  return field(element_type) + field(count) + elements;
}

struct GgufBytes {
  uint32_t version = 3;
  uint64_t n_keys = 0;
  uint64_t n_tensors = 0;
  std::string keys;     // records
  std::string tensors;  // records
  std::string data;
  size_t alignment = 32;

  GgufBytes& key(std::string_view name, uint32_t type, const std::string& value) {
    keys += text_field(name) + field(type) + value;
    ++n_keys;
    return *this;
  }

  GgufBytes& tensor(std::string_view name, const std::vector<int64_t>& ne, uint32_t type, uint64_t offset) {
    tensors += text_field(name) + field(static_cast<uint32_t>(ne.size()));
    for (const int64_t n : ne) tensors += field(n);
    tensors += field(type) + field(offset);
    ++n_tensors;
    return *this;
  }

  std::string file() const {
    std::string bytes = "GGUF" + field(version) + field(n_tensors) + field(n_keys) + keys + tensors;
    if (!data.empty()) bytes.append((alignment - bytes.size() % alignment) % alignment, '\0');
    return bytes + data;
  }
};

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace parlance::test
