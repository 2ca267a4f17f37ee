#include "gguf/reader.h"

#include <utility>

#include "gguf/contents.h"

namespace parlance {

std::string printable(std::string_view name) {
  constexpr size_t kLongest = 100;
  std::string text;
  for (const char c : name.substr(0, kLongest)) {
    if (c >= ' ' && c <= '~') {
      text.push_back(c);
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (name.size() > kLongest) text += "...";
  return text;
}

namespace {

// A part of a split model is a sound file that lacks most tensors; saying so here is clearer than the name of
// the first tensor that a model does not find.
Result<void> check_not_split(const GgufFile& file) {
  constexpr int64_t kMostParts = 65535;
  PARLANCE_TRY(const auto count, file.find_int("split.count", 0, kMostParts));
  if (count.value_or(1) <= 1) return {};
  PARLANCE_TRY(const auto part, file.find_int("split.no", 0, *count - 1));
  return fail(ErrorCode::unsupported,
              "{}: part {} of {} of a split model; merge the parts into one file first: "
              "llama-gguf-split --merge FIRST-PART MERGED.gguf",
              file.name(), part.value_or(0) + 1, *count);
}

}  // namespace

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  PARLANCE_TRY(MappedFile mapping, MappedFile::open(path));
  auto contents = std::make_shared<Contents>();
  contents->name = path.string();
  contents->mapping = std::move(mapping);
  contents->bytes = contents->mapping->bytes();
  return read(std::move(contents));
}

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes, std::string name) {
  auto contents = std::make_shared<Contents>();
  contents->name = std::move(name);
  contents->bytes = bytes;
  return read(std::move(contents));
}

Result<GgufFile> GgufFile::read(std::shared_ptr<Contents> contents) {
  PARLANCE_CHECK(contents->parse());
  GgufFile file;
  file.contents_ = std::move(contents);
  PARLANCE_CHECK(check_not_split(file));
  return file;
}

const std::string& GgufFile::name() const {
  return contents_->name;
}
uint32_t GgufFile::version() const {
  return contents_->version;
}
uint32_t GgufFile::alignment() const {
  return contents_->alignment;
}
std::span<const std::byte> GgufFile::bytes() const {
  return contents_->bytes;
}
std::span<const std::byte> GgufFile::data() const {
  return contents_->data;
}

bool GgufFile::still_whole() const {
  return !contents_->mapping || contents_->mapping->still_whole();
}

void GgufFile::move_to_huge_pages() const {
  if (!contents_->mapping || contents_->huge_pages) return;
  contents_->huge_pages = std::make_unique<HugePageMove>(data());
}

void GgufFile::wait_for_huge_pages() const {
  if (contents_->huge_pages) contents_->huge_pages->wait();
}

const std::vector<std::pair<std::string_view, GgufValue>>& GgufFile::metadata() const {
  return contents_->metadata;
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto* record = contents_->key_index.find(contents_->metadata, key);
  return record ? &record->second : nullptr;
}

const std::vector<GgufTensor>& GgufFile::tensors() const {
  return contents_->tensors;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  return contents_->tensor_index.find(contents_->tensors, name);
}

}  // namespace parlance
