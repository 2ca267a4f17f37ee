#include "support/npy.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <regex>
#include <stdexcept>
#include <string_view>

#include "base/half.h"
#include "support/fixtures.h"

namespace parlance::test {

namespace {

template <class T>
T value_at(std::string_view bytes, size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
  } else {
    throw std::runtime_error("an .npy file ends at byte " + std::to_string(bytes.size()));
  }
  return value;
}

double element(std::string_view bytes, const std::string& type, size_t at) {
  if (type == "f2") return static_cast<double>(f32_from_f16(value_at<uint16_t>(bytes, at)));
  if (type == "f4") return static_cast<double>(value_at<float>(bytes, at));
  if (type == "f8") return value_at<double>(bytes, at);
  if (type == "i1" || type == "b1") return value_at<int8_t>(bytes, at);
  if (type == "u1") return value_at<uint8_t>(bytes, at);
  if (type == "i2") return value_at<int16_t>(bytes, at);
  if (type == "u2") return value_at<uint16_t>(bytes, at);
  if (type == "i4") return value_at<int32_t>(bytes, at);
  if (type == "u4") return value_at<uint32_t>(bytes, at);
  if (type == "i8") return static_cast<double>(value_at<int64_t>(bytes, at));
  ADD_FAILURE() << "element type " << type << " is not one that tests read";
  return 0;
}

NpyArray parse_npy(std::string_view bytes, const std::string& name) {
  NpyArray array;
  if (!bytes.starts_with("\x93NUMPY")) {
    throw std::runtime_error(name + " is not an .npy file");
  }
  const bool is_first_version = bytes[6] == 1;
  const size_t head_at = is_first_version ? 10 : 12;
  const size_t head_size = is_first_version ? value_at<uint16_t>(bytes, 8) : value_at<uint32_t>(bytes, 8);
  const std::string head(bytes.substr(head_at, head_size));
  std::smatch found;
  if (!std::regex_search(head, found, std::regex("'descr': '[<|]([a-z][0-9])'.*'fortran_order': False"))) {
    throw std::runtime_error(name + " is no array that tests read: " + head);
  }
  const std::string type = found[1];
  std::regex_search(head, found, std::regex("'shape': \\(([0-9, ]*)\\)"));
  const std::string shape = found[1];
  const std::regex number("[0-9]+");
  for (std::sregex_iterator it(shape.begin(), shape.end(), number), end; it != end; ++it) {
    array.shape.push_back(std::stoll(it->str()));
  }
  const int64_t n = std::accumulate(array.shape.begin(), array.shape.end(), int64_t{1}, std::multiplies<>());
  const auto size = static_cast<size_t>(type[1] - '0');
  array.values.reserve(static_cast<size_t>(n));
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    array.values.push_back(element(bytes, type, head_at + head_size + i * size));
  }
  return array;
}

}  // namespace

NpyArray read_npy(const std::filesystem::path& path) {
  return parse_npy(read_text(path), path.string());
}

std::map<std::string, NpyArray> read_npz(const std::filesystem::path& path) {
  constexpr uint32_t kLocalHeader = 0x04034b50;
  std::map<std::string, NpyArray> arrays;
  const std::string bytes = read_text(path);
  const std::string_view view = bytes;
  size_t at = 0;
  while (at + 30 <= view.size() && value_at<uint32_t>(view, at) == kLocalHeader) {
    const auto method = value_at<uint16_t>(view, at + 8);
    uint64_t size = value_at<uint32_t>(view, at + 18);
    const auto name_size = value_at<uint16_t>(view, at + 26), extra_size = value_at<uint16_t>(view, at + 28);
    std::string name(view.substr(at + 30, name_size));
    if (size == UINT32_MAX) size = value_at<uint64_t>(view, at + 30 + name_size + 12);  // zip64
    EXPECT_EQ(method, 0) << path << ": " << name << " is compressed";
    at += 30u + name_size + extra_size;
    arrays[name.substr(0, name.rfind(".npy"))] = parse_npy(view.substr(at, size), name);
    at += size;
  }
  EXPECT_FALSE(arrays.empty()) << path;
  return arrays;
}

}  // namespace parlance::test
