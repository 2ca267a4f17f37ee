// Reads the records of a GGUF file. Counts and lengths are compared with the bytes that are left before
// anything is made of them, so memory stays in proportion to the bytes that were really there.
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/checked.h"
#include "gguf/contents.h"

namespace parlance {

namespace {

static_assert(std::endian::native == std::endian::little, "values are read as they lie in the file");

constexpr uint64_t kMaxRecords = 1u << 24;              // keys, and tensors; models have some hundred of each
constexpr uint64_t kMaxElements = 1u << 30;             // of an array
constexpr uint64_t kMaxTextBytes = 1u << 30;            // of a string value
constexpr uint64_t kMinKeyRecordBytes = 8 + 1 + 4 + 1;  // name length, name, type, value
constexpr uint64_t kMinTensorRecordBytes = 8 + 1 + 4 + 4 + 8;  // name length, name, n_dims, type, offset

// Walks the bytes of a file and knows where it is, for messages.
class Walk {
 public:
  Walk(const std::string& file, std::span<const std::byte> bytes) : file_(file), bytes_(bytes) {}

  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }

  // What is being read: "key 7" until its name is known, then the name.
  void start(std::string_view kind, uint64_t number) { kind_ = kind, number_ = number, name_ = {}; }
  void start(std::string_view kind, std::string_view name) { kind_ = kind, name_ = name; }

  // What no program writes.
  template <class... Args>
  tl::unexpected<Error> damaged(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::corrupt_file, "{}: {}: {}; the file is incomplete or damaged, download it again",
                file_, subject(), fmt::format(format, std::forward<Args>(args)...));
  }

  // What a faulty program may have written.
  template <class... Args>
  tl::unexpected<Error> misshapen(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::corrupt_file,
                "{}: {}: {}; the file is damaged or was exported wrongly, export it again", file_, subject(),
                fmt::format(format, std::forward<Args>(args)...));
  }

  // What other programs may read. The remedy is the caller's.
  template <class... Args>
  tl::unexpected<Error> unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::unsupported, "{}: {}: {}", file_, subject(),
                fmt::format(format, std::forward<Args>(args)...));
  }

  template <class T>
  Result<T> scalar(std::string_view what) {
    static_assert(std::is_trivially_copyable_v<T>);
    PARLANCE_TRY(const std::span<const std::byte> bytes, take(sizeof(T), what));
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  Result<std::span<const std::byte>> take(uint64_t size, std::string_view what) {
    if (size > left()) {
      return damaged("{} needs {} bytes at byte {} and the file has {} left", what, size, position_, left());
    }
    const std::span<const std::byte> bytes = bytes_.subspan(position_, static_cast<size_t>(size));
    position_ += static_cast<size_t>(size);
    return bytes;
  }

  Result<std::string_view> text(std::string_view what, uint64_t limit) {
    PARLANCE_TRY(const uint64_t size, scalar<uint64_t>(what));
    if (size > limit) {
      return damaged("{} of {} bytes, at most {} are allowed", what, size, limit);
    }
    PARLANCE_TRY(const std::span<const std::byte> bytes, take(size, what));
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

 private:
  std::string subject() const {
    return name_.empty() ? fmt::format("{} {}", kind_, number_)
                         : fmt::format("{} {}", kind_, printable(name_));
  }

  const std::string& file_;
  std::span<const std::byte> bytes_;
  size_t position_ = 0;
  std::string_view kind_;
  uint64_t number_ = 0;
  std::string_view name_;
};

Result<GgufType> read_type(Walk& walk, std::string_view what) {
  PARLANCE_TRY(const uint32_t id, walk.scalar<uint32_t>(what));
  if (id >= kGgufTypeCount) {
    return walk.damaged("{} id {}, known are 0 to {}", what, id, kGgufTypeCount - 1);
  }
  return static_cast<GgufType>(id);
}

// The elements of an array, back to back; each string is a length and its bytes.
Result<std::span<const std::byte>> read_elements(Walk& walk, GgufType type, uint64_t count) {
  if (type != GgufType::string) return walk.take(count * gguf_scalar_bytes(type), "array");
  if (count > walk.left() / sizeof(uint64_t)) {
    return walk.damaged("array of {} strings in the {} bytes left", count, walk.left());
  }
  Walk strings = walk;
  for (uint64_t i = 0; i < count; ++i) {
    PARLANCE_CHECK(strings.text("string in an array", kMaxTextBytes));
  }
  return walk.take(strings.position() - walk.position(), "array");
}

Result<GgufValue> read_value(Walk& walk) {
  GgufValue value{};
  value.n_elements = 1;
  PARLANCE_TRY(value.type, read_type(walk, "value type"));
  if (value.type == GgufType::string) {
    PARLANCE_TRY(const std::string_view text, walk.text("string", kMaxTextBytes));
    value.bytes = std::as_bytes(std::span(text.data(), text.size()));
  } else if (value.type == GgufType::array) {
    PARLANCE_TRY(value.element_type, read_type(walk, "array element type"));
    if (value.element_type == GgufType::array) {
      return walk.damaged("array of arrays, which the format does not have");
    }
    PARLANCE_TRY(value.n_elements, walk.scalar<uint64_t>("array length"));
    if (value.n_elements > kMaxElements) {
      return walk.damaged("array of {} elements, at most {} are allowed", value.n_elements, kMaxElements);
    }
    PARLANCE_TRY(value.bytes, read_elements(walk, value.element_type, value.n_elements));
  } else {
    PARLANCE_TRY(value.bytes, walk.take(gguf_scalar_bytes(value.type), name_of(value.type)));
  }
  return value;
}

Result<std::pair<std::string_view, GgufValue>> read_key(Walk& walk, uint64_t number) {
  walk.start("key", number);
  PARLANCE_TRY(const std::string_view key, walk.text("name", kGgufMaxKeyBytes));
  if (key.empty()) return walk.damaged("empty name");
  walk.start("key", key);
  PARLANCE_TRY(const GgufValue value, read_value(walk));
  return std::pair(key, value);
}

// Says why there is no type with this id.
tl::unexpected<Error> no_such_type(const Walk& walk, uint32_t id) {
  if (id > std::numeric_limits<int32_t>::max()) {
    return walk.damaged("type id {}", static_cast<int32_t>(id));
  }
  if (id >= kDTypeCount) {
    return walk.unsupported(
        "type id {}; ids from {} on mean different formats to different programs, use a file with types such "
        "as q8_0 or q4_k",
        id, kDTypeCount);
  }
  return walk.unsupported(
      "type id {}, which the format no longer has; export the model again with a current tool", id);
}

// A tensor record; `offset` of its bytes in the data section, which are looked up once that section is known.
Result<GgufTensor> read_tensor(Walk& walk, uint64_t number, uint64_t& offset, uint64_t& n_bytes) {
  GgufTensor tensor{};
  walk.start("tensor", number);
  PARLANCE_TRY(tensor.name, walk.text("name", kGgufMaxTensorNameBytes));
  if (tensor.name.empty()) return walk.damaged("empty name");
  walk.start("tensor", tensor.name);

  PARLANCE_TRY(tensor.n_dims, walk.scalar<uint32_t>("number of dimensions"));
  if (tensor.n_dims > kGgufMaxDims) {
    return walk.damaged("{} dimensions, at most {} are allowed", tensor.n_dims, kGgufMaxDims);
  }
  tensor.ne.fill(1);
  int64_t n_elements = 1;
  for (uint32_t i = 0; i < tensor.n_dims; ++i) {
    PARLANCE_TRY(tensor.ne[i], walk.scalar<int64_t>("size"));
    if (tensor.ne[i] <= 0) {
      return walk.damaged("size {} of dimension {}, expected 1 or more", tensor.ne[i], i);
    }
    const std::optional<int64_t> product = checked_mul(n_elements, tensor.ne[i]);
    if (!product) return walk.damaged("more than 2^63 elements");
    n_elements = *product;
  }

  PARLANCE_TRY(const uint32_t type_id, walk.scalar<uint32_t>("type"));
  const std::optional<DType> dtype = dtype_from_id(type_id);
  if (!dtype) return no_such_type(walk, type_id);
  tensor.dtype = *dtype;
  const DTypeTraits& type = traits(*dtype);
  if (tensor.ne[0] % type.block_elements != 0) {
    return walk.misshapen("rows of {} elements, {} needs a multiple of {}", tensor.ne[0], type.name,
                          type.block_elements);
  }
  const std::optional<uint64_t> bytes =
      checked_mul<uint64_t>(static_cast<uint64_t>(n_elements) / type.block_elements, type.block_bytes);
  if (!bytes) return walk.damaged("more than 2^64 bytes");
  n_bytes = *bytes;
  PARLANCE_TRY(offset, walk.scalar<uint64_t>("offset"));
  return tensor;
}

struct Extent {
  uint64_t offset;  // in the data section
  uint64_t size;
};

// Tensors lie in the order of their records, each padded to the alignment. Writers keep to this and it leaves
// nothing to believe: a damaged offset or size never points at bytes of another tensor.
Result<void> place_tensors(Walk& walk, std::span<const std::byte> file, size_t data_start, uint32_t alignment,
                           std::span<const Extent> extents, std::vector<GgufTensor>& tensors) {
  const uint64_t data_size = file.size() - std::min(file.size(), data_start);
  uint64_t expected = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto [offset, size] = extents[i];
    walk.start("tensor", tensors[i].name);
    if (offset > data_size || size > data_size - offset) {
      return walk.damaged("{} bytes at offset {} of the data section, which has {}", size, offset, data_size);
    }
    if (offset != expected) {
      return walk.misshapen("offset {}, expected {} ({}, alignment {})", offset, expected,
                            offset < expected ? "it overlaps the tensor before" : "it leaves a gap",
                            alignment);
    }
    tensors[i].bytes = file.subspan(data_start + static_cast<size_t>(offset), static_cast<size_t>(size));
    // The end of a tensor is within the file, so rounding it up cannot overflow.
    expected = align_up<uint64_t>(offset + size, alignment);
  }
  return {};
}

Result<uint32_t> read_alignment(Walk& walk, const GgufValue& value) {
  walk.start("key", kGgufAlignmentKey);
  if (value.type != GgufType::u32) {
    return walk.misshapen("expected u32, found {}", name_of(value.type));
  }
  uint32_t alignment;
  std::memcpy(&alignment, value.bytes.data(), sizeof alignment);
  if (!is_gguf_alignment(alignment)) {
    return walk.misshapen("expected a power of two from {} to {}, found {}", kGgufMinAlignment,
                          kGgufMaxAlignment, alignment);
  }
  return alignment;
}

struct Header {
  uint32_t version;
  uint64_t n_tensors;
  uint64_t n_keys;
};

Result<uint64_t> read_count(Walk& walk, const std::string& file, std::string_view what,
                            uint64_t record_bytes) {
  PARLANCE_TRY(const uint64_t count, walk.scalar<uint64_t>(what));
  if (count > kMaxRecords || count > walk.left() / record_bytes) {
    return fail(ErrorCode::corrupt_file,
                "{}: {} {} in a file of {} bytes; it is incomplete or damaged, download it again", file, what,
                static_cast<int64_t>(count), walk.position() + walk.left());
  }
  return count;
}

Result<Header> read_header(Walk& walk, const std::string& file) {
  walk.start("the", "header");
  const size_t size = walk.left();
  if (size == 0) return fail(ErrorCode::corrupt_file, "{}: the file is empty; download it again", file);
  Result<std::span<const std::byte>> magic = walk.take(kGgufMagic.size(), "magic");
  if (!magic || std::memcmp(magic->data(), kGgufMagic.data(), kGgufMagic.size()) != 0) {
    return fail(ErrorCode::corrupt_file,
                "{}: not a GGUF file (its first bytes are not \"GGUF\"); name a model in GGUF format", file);
  }
  Header header;
  PARLANCE_TRY(header.version, walk.scalar<uint32_t>("version"));
  if (header.version != 0 && (header.version & 0xffff) == 0) {
    return fail(ErrorCode::unsupported, "{}: a big-endian GGUF file; convert it to little endian", file);
  }
  if (header.version != 2 && header.version != kGgufVersion) {
    return fail(ErrorCode::unsupported,
                "{}: GGUF version {}, supported are 2 and {}; export the model again with {} tool", file,
                header.version, kGgufVersion, header.version < 2 ? "a current" : "an earlier");
  }
  PARLANCE_TRY(header.n_tensors, read_count(walk, file, "tensor count", kMinTensorRecordBytes));
  PARLANCE_TRY(header.n_keys, read_count(walk, file, "key count", kMinKeyRecordBytes));
  return header;
}

}  // namespace

Result<void> GgufFile::Contents::parse() {
  Walk walk(name, bytes);
  PARLANCE_TRY(const Header header, read_header(walk, name));
  version = header.version;

  for (uint64_t i = 0; i < header.n_keys; ++i) {
    PARLANCE_TRY(const auto key, read_key(walk, i));
    metadata.push_back(key);
  }
  key_index.build(metadata);
  if (const auto twice = key_index.duplicate(metadata)) {
    walk.start("key", *twice);
    return walk.misshapen("it is there twice");
  }
  if (const auto* key = key_index.find(metadata, kGgufAlignmentKey)) {
    PARLANCE_TRY(alignment, read_alignment(walk, key->second));
  }

  std::vector<Extent> extents;
  for (uint64_t i = 0; i < header.n_tensors; ++i) {
    Extent extent;
    PARLANCE_TRY(const GgufTensor tensor, read_tensor(walk, i, extent.offset, extent.size));
    tensors.push_back(tensor);
    extents.push_back(extent);
  }
  tensor_index.build(tensors);
  if (const auto twice = tensor_index.duplicate(tensors)) {
    walk.start("tensor", *twice);
    return walk.misshapen("it is there twice");
  }

  // A file without tensors may end before the padding.
  const size_t data_start = align_up<size_t>(walk.position(), alignment);
  if (data_start < bytes.size()) data = bytes.subspan(data_start);
  return place_tensors(walk, bytes, data_start, alignment, extents, tensors);
}

}  // namespace parlance
