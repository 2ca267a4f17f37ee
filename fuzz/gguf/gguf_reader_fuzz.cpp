// Any bytes as a GGUF file: refused with one line, or read completely, in memory in proportion to their
// number.
#include <cstdint>
#include <limits>

#include "allocations.h"
#include "gguf/reader.h"

namespace {

using namespace parlance;
using parlance::fuzz::require;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Reads every byte, so that a sanitizer sees a view that leaves the file.
uint64_t sum(std::span<const std::byte> bytes) {
  uint64_t total = 0;
  for (const std::byte b : bytes) total += static_cast<uint64_t>(b);
  return total;
}

void check_message(const std::string& message) {
  require(message.size() < 1000, "messages are short");
  for (const char c : message) require(c >= ' ' && c <= '~', "messages are one line of plain text");
}

template <class T>
bool check(const Result<T>& result) {
  if (!result) check_message(result.error().message);
  return result.has_value();
}

void read_key(const GgufFile& file, std::string_view key, const GgufValue& value) {
  require(file.find(key) == &value, "a key is found by its name");
  volatile uint64_t sink = sum(value.bytes);
  (void)sink;
  const bool is_text = check(file.find_string(key));
  require(is_text == (value.type == GgufType::string), "strings, and only they, are read as strings");
  const bool is_bool = check(file.find_bool(key));
  require(is_bool == (value.type == GgufType::boolean), "bools, and only they, are read as bools");
  check(file.get_string(key));
  check(file.get_float(key));
  if (check(file.get_int(key, 0, 100)))
    require(check(file.get_int(key, kMin, kMax)), "wider limits keep a value");
  check(file.find_ints(key, kMin, kMax));
  check(file.find_ints(key, 0, 1));
  check(file.find_floats(key));
  auto strings = file.find_strings(key);
  if (!check(strings)) return;
  uint64_t n = 0, n_bytes = 0;
  for (GgufStringArray& array = **strings; array.size() > 0; ++n) {
    const std::string_view text = array.next();
    n_bytes += sizeof(uint64_t) + text.size();
    sink = sum(std::as_bytes(std::span(text.data(), text.size())));
  }
  require(n == value.n_elements && n_bytes == value.bytes.size(), "the strings of an array fill its bytes");
}

void read_tensor(const GgufFile& file, const GgufTensor& tensor) {
  require(file.find_tensor(tensor.name) == &tensor, "a tensor is found by its name");
  int64_t n_elements = 1;
  for (const int64_t n : tensor.ne) n_elements *= n;
  require(tensor.bytes.size() == row_bytes(tensor.dtype, n_elements), "a tensor has the bytes of its sizes");
  require((tensor.bytes.data() - file.data().data()) % file.alignment() == 0, "tensors are aligned");
  volatile uint64_t sink = sum(tensor.bytes);
  (void)sink;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The largest factor: a record of 14 bytes becomes a view of 48, and a growing list holds three times its
  // views. Messages and small blocks are in the constant.
  const fuzz::AllocationLimit limit(65536 + 16 * size);
  const Result<GgufFile> file = GgufFile::parse(std::as_bytes(std::span(data, size)), "input");
  if (!check(file)) return 0;
  for (const auto& [key, value] : file->metadata()) read_key(*file, key, value);
  for (const GgufTensor& tensor : file->tensors()) read_tensor(*file, tensor);
  check(file->get_string("no such key"));
  return 0;
}
