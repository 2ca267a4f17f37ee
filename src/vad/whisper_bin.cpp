// whisper.cpp's .bin of the detector ("ggml-silero"): 32-bit little-endian numbers without padding, a head
// that repeats the network's sizes, then tensors until the end of the file.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/checked.h"
#include "vad/silero_weights.h"
#include "vad/weight_file.h"

namespace parlance::vad {

namespace {

constexpr int32_t kMagic = 0x67676d6c;
constexpr std::string_view kType = "silero-16k";
constexpr int32_t kMostNameBytes = 256;
constexpr int32_t kMostDims = 4;

// Takes numbers and bytes from the front; what lies past the end is not there.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  std::optional<std::span<const std::byte>> take(int64_t n) {
    if (n < 0 || static_cast<uint64_t>(n) > rest_.size()) return std::nullopt;
    const auto taken = rest_.first(static_cast<size_t>(n));
    rest_ = rest_.subspan(static_cast<size_t>(n));
    return taken;
  }
  std::optional<int32_t> number() {
    const auto bytes = take(sizeof(int32_t));
    if (!bytes) return std::nullopt;
    int32_t value;
    std::memcpy(&value, bytes->data(), sizeof value);
    return value;
  }

 private:
  std::span<const std::byte> rest_;
};

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

tl::unexpected<Error> truncated(const std::string& name, const char* where) {
  return fail(ErrorCode::corrupt_file, "{}: ends within {}; download it again", name, where);
}

Result<void> expect(Cursor& cursor, const std::string& name, const char* what, int64_t expected) {
  const auto value = cursor.number();
  if (!value) return truncated(name, "its head");
  if (*value != expected) {
    return fail(ErrorCode::unsupported,
                "{}: {} is {}, expected {}: not the 16 kHz Silero VAD of version 5 or 6", name, what, *value,
                expected);
  }
  return {};
}

Result<void> check_head(Cursor& cursor, const std::string& name) {
  PARLANCE_CHECK(expect(cursor, name, "magic", kMagic));
  const auto type_bytes = cursor.number();
  const auto type = type_bytes && *type_bytes <= kMostNameBytes ? cursor.take(*type_bytes) : std::nullopt;
  if (!type) return truncated(name, "the type's name");
  if (text(*type) != kType) {
    return fail(ErrorCode::unsupported, "{}: a model of type \"{}\", expected \"{}\"", name,
                printable(text(*type)), kType);
  }
  for (int i = 0; i < 3; ++i) {  // the version says nothing that the sizes do not say
    if (!cursor.number()) return truncated(name, "its version");
  }
  PARLANCE_CHECK(expect(cursor, name, "window", kSileroWindow));
  PARLANCE_CHECK(expect(cursor, name, "context", kSileroContext));
  PARLANCE_CHECK(expect(cursor, name, "number of encoder layers", kSileroConvs.size()));
  for (const SileroConv& conv : kSileroConvs) {
    PARLANCE_CHECK(expect(cursor, name, "channels into an encoder layer", conv.n_in));
    PARLANCE_CHECK(expect(cursor, name, "channels out of an encoder layer", conv.n_out));
    PARLANCE_CHECK(expect(cursor, name, "taps of an encoder layer", kSileroTaps));
  }
  PARLANCE_CHECK(expect(cursor, name, "LSTM input size", kSileroHidden));
  PARLANCE_CHECK(expect(cursor, name, "LSTM hidden size", kSileroHidden));
  PARLANCE_CHECK(expect(cursor, name, "input size of the last layer", kSileroHidden));
  return expect(cursor, name, "output size of the last layer", 1);
}

Result<FileTensor> take_tensor(Cursor& cursor, const std::string& name) {
  const auto n_dims = cursor.number(), name_bytes = cursor.number(), type = cursor.number();
  if (!n_dims || !name_bytes || !type) return truncated(name, "the head of a tensor");
  if (*n_dims < 0 || *n_dims > kMostDims || *name_bytes < 1 || *name_bytes > kMostNameBytes || *type < 0 ||
      *type > 1) {
    return fail(
        ErrorCode::corrupt_file,
        "{}: a tensor with {} dimensions, a name of {} bytes and type {}, expected 0 to {}, 1 to {} and "
        "0 (f32) or 1 (f16); download it again",
        name, *n_dims, *name_bytes, *type, kMostDims, kMostNameBytes);
  }
  FileTensor tensor{.name = {},
                    .dtype = *type == 1 ? DType::f16 : DType::f32,
                    .shape = {},
                    .bytes = {},
                    .is_order_open = true};
  std::optional<int64_t> n_bytes = static_cast<int64_t>(row_bytes(tensor.dtype, 1));
  for (int i = 0; i < *n_dims; ++i) {
    const auto size = cursor.number();
    if (!size) return truncated(name, "a tensor's sizes");
    if (*size < 0) {
      return fail(ErrorCode::corrupt_file, "{}: a tensor of size {}; download it again", name, *size);
    }
    tensor.shape.insert(tensor.shape.begin(), *size);  // the file has the fastest first
    n_bytes = n_bytes ? checked_mul<int64_t>(*n_bytes, *size) : n_bytes;
  }
  const auto tensor_name = cursor.take(*name_bytes);
  if (!tensor_name) return truncated(name, "a tensor's name");
  tensor.name = printable(text(*tensor_name));
  const auto data = n_bytes ? cursor.take(*n_bytes) : std::nullopt;
  if (!data) {
    return fail(ErrorCode::corrupt_file, "{}: ends within tensor {} of shape {}; download it again", name,
                tensor.name, text_of(tensor.shape));
  }
  tensor.bytes = *data;
  return tensor;
}

}  // namespace

bool is_whisper_bin(std::span<const std::byte> bytes) {
  int32_t magic = 0;
  if (bytes.size() >= sizeof magic) std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic == kMagic;
}

Result<FileTensors> read_whisper_bin_tensors(std::span<const std::byte> bytes, const std::string& name) {
  Cursor cursor(bytes);
  PARLANCE_CHECK(check_head(cursor, name));
  FileTensors tensors;
  while (!cursor.at_end()) {
    PARLANCE_TRY(auto tensor, take_tensor(cursor, name));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace parlance::vad
