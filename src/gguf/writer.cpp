#include "gguf/writer.h"

#include <fmt/format.h>

#include <cassert>
#include <set>
#include <utility>

#include "base/checked.h"
#include "gguf/contents.h"

namespace parlance {

namespace {

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string& out, std::string_view text) {
  append<uint64_t>(out, text.size());
  out += text;
}

void append_type(std::string& out, GgufType type) {
  append(out, static_cast<uint32_t>(type));
}

template <class T>
std::string encode_scalar(GgufType type, T value) {
  std::string encoded;
  append_type(encoded, type);
  append(encoded, value);
  return encoded;
}

std::string encode_array_head(GgufType element_type, uint64_t count) {
  std::string encoded;
  append_type(encoded, GgufType::array);
  append_type(encoded, element_type);
  append(encoded, count);
  return encoded;
}

template <class T>
std::string encode_array(GgufType element_type, std::span<const T> values) {
  std::string encoded = encode_array_head(element_type, values.size());
  encoded.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return encoded;
}

// Bytes of a tensor's data; nothing when the sizes are not those of a tensor of this type.
std::optional<size_t> tensor_bytes(DType dtype, std::span<const int64_t> ne) {
  const DTypeTraits& type = traits(dtype);
  if (ne.size() > kGgufMaxDims) return std::nullopt;
  std::optional<size_t> elements = 1;
  for (const int64_t n : ne) {
    if (n <= 0) return std::nullopt;
    elements = checked_mul(*elements, static_cast<size_t>(n));
    if (!elements) return std::nullopt;
  }
  const size_t row = ne.empty() ? 1 : static_cast<size_t>(ne[0]);
  if (row % type.block_elements != 0) return std::nullopt;
  return checked_mul<size_t>(*elements / type.block_elements, type.block_bytes);
}

}  // namespace

void GgufWriter::set(std::string_view key, std::string encoded) {
  if (const auto place = key_places_.find(key); place != key_places_.end()) {
    keys_[place->second].encoded = std::move(encoded);
    return;
  }
  key_places_.emplace(key, keys_.size());
  keys_.push_back({std::string(key), std::move(encoded)});
}

void GgufWriter::set_string(std::string_view key, std::string_view value) {
  std::string encoded;
  append_type(encoded, GgufType::string);
  append_text(encoded, value);
  set(key, std::move(encoded));
}

void GgufWriter::set_u32(std::string_view key, uint32_t value) {
  set(key, encode_scalar(GgufType::u32, value));
}
void GgufWriter::set_u64(std::string_view key, uint64_t value) {
  set(key, encode_scalar(GgufType::u64, value));
}
void GgufWriter::set_i32(std::string_view key, int32_t value) {
  set(key, encode_scalar(GgufType::i32, value));
}
void GgufWriter::set_f32(std::string_view key, float value) {
  set(key, encode_scalar(GgufType::f32, value));
}

void GgufWriter::set_bool(std::string_view key, bool value) {
  set(key, encode_scalar<uint8_t>(GgufType::boolean, value ? 1 : 0));
}

void GgufWriter::set_strings(std::string_view key, std::span<const std::string> values) {
  std::string encoded = encode_array_head(GgufType::string, values.size());
  for (const std::string& value : values) append_text(encoded, value);
  set(key, std::move(encoded));
}

void GgufWriter::set_i32s(std::string_view key, std::span<const int32_t> values) {
  set(key, encode_array(GgufType::i32, values));
}

void GgufWriter::set_bools(std::string_view key, const std::vector<bool>& values) {
  std::string encoded = encode_array_head(GgufType::boolean, values.size());
  for (const bool value : values) encoded.push_back(value ? 1 : 0);
  set(key, std::move(encoded));
}

void GgufWriter::set_f32s(std::string_view key, std::span<const float> values) {
  set(key, encode_array(GgufType::f32, values));
}

void GgufWriter::copy(std::string_view key, const GgufValue& value) {
  std::string encoded;
  if (value.type == GgufType::array) {
    encoded = encode_array_head(value.element_type, value.n_elements);
  } else {
    append_type(encoded, value.type);
    if (value.type == GgufType::string) append<uint64_t>(encoded, value.bytes.size());
  }
  encoded.append(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
  set(key, std::move(encoded));
}

void GgufWriter::add_tensor(std::string_view name, DType dtype, std::span<const int64_t> ne) {
  tensors_.push_back({std::string(name), dtype, {ne.begin(), ne.end()}, 0});
}

Result<uint32_t> GgufWriter::alignment() const {
  const auto place = key_places_.find(kGgufAlignmentKey);
  if (place == key_places_.end()) return kGgufDefaultAlignment;
  const std::string& encoded = keys_[place->second].encoded;
  for (uint32_t alignment = kGgufMinAlignment; alignment <= kGgufMaxAlignment; alignment *= 2) {
    if (encoded == encode_scalar(GgufType::u32, alignment)) return alignment;
  }
  return fail(ErrorCode::invalid_argument,
              "key {}: expected a u32, a power of two from {} to {}; leave it out for {}", kGgufAlignmentKey,
              kGgufMinAlignment, kGgufMaxAlignment, kGgufDefaultAlignment);
}

Result<std::string> GgufWriter::tensor_records(uint32_t alignment) {
  std::string records;
  std::set<std::string_view> names;
  uint64_t offset = 0;
  for (Declared& tensor : tensors_) {
    if (tensor.name.empty() || tensor.name.size() > kGgufMaxTensorNameBytes) {
      return fail(ErrorCode::invalid_argument, "tensor {}: name of {} bytes, expected 1 to {}",
                  printable(tensor.name), tensor.name.size(), kGgufMaxTensorNameBytes);
    }
    if (!names.insert(tensor.name).second) {
      return fail(ErrorCode::invalid_argument, "tensor {}: declared twice", printable(tensor.name));
    }
    const std::optional<size_t> bytes = tensor_bytes(tensor.dtype, tensor.ne);
    const std::optional<uint64_t> end = bytes ? checked_add<uint64_t>(offset, *bytes) : std::nullopt;
    const std::optional<uint64_t> next = end ? checked_align_up<uint64_t>(*end, alignment) : std::nullopt;
    if (!next) {
      return fail(ErrorCode::invalid_argument,
                  "tensor {}: [{}] of {}: expected up to {} sizes of 1 or more and rows of a multiple of {}",
                  printable(tensor.name), fmt::join(tensor.ne, ", "), name_of(tensor.dtype), kGgufMaxDims,
                  traits(tensor.dtype).block_elements);
    }
    tensor.bytes = *bytes;
    append_text(records, tensor.name);
    append(records, static_cast<uint32_t>(tensor.ne.size()));
    for (const int64_t n : tensor.ne) append(records, n);
    append(records, static_cast<uint32_t>(tensor.dtype));
    append(records, offset);
    offset = *next;
  }
  return records;
}

Result<void> GgufWriter::begin(const std::filesystem::path& path) {
  path_ = path;
  next_ = 0;
  file_.reset();
  for (const Key& key : keys_) {
    if (!key.name.empty() && key.name.size() <= kGgufMaxKeyBytes) continue;
    return fail(ErrorCode::invalid_argument, "key {}: name of {} bytes, expected 1 to {}",
                printable(key.name), key.name.size(), kGgufMaxKeyBytes);
  }
  PARLANCE_TRY(alignment_, alignment());
  PARLANCE_TRY(const std::string records, tensor_records(alignment_));

  std::string head(kGgufMagic);
  append(head, kGgufVersion);
  append<uint64_t>(head, tensors_.size());
  append<uint64_t>(head, keys_.size());
  PARLANCE_TRY(file_, AtomicFile::create(path));
  PARLANCE_CHECK(file_->write(head));
  for (const Key& key : keys_) {
    std::string record;
    append_text(record, key.name);
    PARLANCE_CHECK(file_->write(record + key.encoded));
  }
  PARLANCE_CHECK(file_->write(records));
  return pad();
}

Result<void> GgufWriter::pad() {
  const size_t written = file_->bytes_written();
  return file_->write(std::string(align_up<size_t>(written, alignment_) - written, '\0'));
}

Result<void> GgufWriter::write_tensor(std::span<const std::byte> bytes) {
  assert(file_);
  if (next_ == tensors_.size()) {
    return fail(ErrorCode::invalid_argument, "{}: all {} declared tensors are written already",
                path_.string(), next_);
  }
  const Declared& tensor = tensors_[next_];
  if (bytes.size() != tensor.bytes) {
    return fail(ErrorCode::invalid_argument, "{}: tensor {}: expected {} bytes, got {}", path_.string(),
                printable(tensor.name), tensor.bytes, bytes.size());
  }
  PARLANCE_CHECK(file_->write(bytes));
  PARLANCE_CHECK(pad());
  ++next_;
  return {};
}

Result<void> GgufWriter::finish() {
  assert(file_);
  std::optional<AtomicFile> file = std::move(file_);
  file_.reset();
  if (next_ != tensors_.size()) {
    return fail(ErrorCode::invalid_argument, "{}: tensor {} was declared and not written", path_.string(),
                printable(tensors_[next_].name));
  }
  return file->commit();
}

}  // namespace parlance
