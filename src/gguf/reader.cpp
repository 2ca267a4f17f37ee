#include "gguf/reader.h"

#include <utility>

#include "gguf/contents.h"
#include "gguf/parts.h"

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

Result<std::shared_ptr<GgufFile::Contents>> GgufFile::Contents::open(const std::filesystem::path& path) {
  PARLANCE_TRY(MappedFile mapping, MappedFile::open(path));
  auto contents = std::make_shared<Contents>();
  contents->name = path.string();
  contents->mapping = std::move(mapping);
  contents->bytes = contents->mapping->bytes();
  PARLANCE_CHECK(contents->parse());
  return contents;
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  PARLANCE_TRY(auto contents, Contents::open(path));
  PARLANCE_TRY(const GgufPart part, part_of(GgufFile(contents)));
  if (part.count > 1) return join_parts(std::move(contents), part, path);
  return GgufFile(std::move(contents));
}

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes, std::string name) {
  auto contents = std::make_shared<Contents>();
  contents->name = std::move(name);
  contents->bytes = bytes;
  PARLANCE_CHECK(contents->parse());
  GgufFile file(std::move(contents));
  PARLANCE_TRY(const GgufPart part, part_of(file));
  if (part.count > 1) {
    return fail(ErrorCode::unsupported,
                "{}: part {} of {} of a split model, expected a whole one; name its file, beside the others",
                file.name(), part.index + 1, part.count);
  }
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

size_t GgufFile::n_bytes() const {
  size_t n = contents_->bytes.size();
  for (const auto& part : contents_->other_parts) n += part->bytes.size();
  return n;
}

bool GgufFile::still_whole() const {
  const auto is_whole = [](const Contents& part) { return !part.mapping || part.mapping->still_whole(); };
  return is_whole(*contents_) &&
         std::ranges::all_of(contents_->other_parts, [&](const auto& part) { return is_whole(*part); });
}

void GgufFile::move_to_huge_pages() const {
  const auto move = [this](const Contents& part) {
    if (!part.mapping || part.huge_pages) return;
    std::vector<OwnCopy> copies;
    for (const OwnCopy& copy : contents_->own_copies) {
      const std::byte* const first = copy.bytes.data();
      if (first >= part.data.data() && first < part.data.data() + part.data.size()) copies.push_back(copy);
    }
    part.huge_pages = std::make_unique<HugePageMove>(part.data, std::move(copies));
  };
  move(*contents_);
  for (const auto& part : contents_->other_parts) move(*part);
  contents_->own_copies.clear();
}

void GgufFile::copy_when_moved(OwnCopy copy) const {
  contents_->own_copies.push_back(std::move(copy));
}

void GgufFile::wait_for_huge_pages() const {
  if (contents_->huge_pages) contents_->huge_pages->wait();
  for (const auto& part : contents_->other_parts) {
    if (part->huge_pages) part->huge_pages->wait();
  }
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
