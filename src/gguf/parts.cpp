#include "gguf/parts.h"

#include <string_view>
#include <utility>
#include <vector>

#include "gguf/contents.h"

namespace parlance {

namespace {

constexpr int64_t kMostParts = 65535;
constexpr std::string_view kKeys = "split.";

std::string ending(const GgufPart& part, int64_t index) {
  return fmt::format("-{:05}-of-{:05}.gguf", index + 1, part.count);
}

std::string words(const GgufPart& part) {
  return part.count > 1 ? fmt::format("part {} of {}", part.index + 1, part.count) : "a whole model";
}

}  // namespace

Result<GgufPart> part_of(const GgufFile& file) {
  PARLANCE_TRY(const auto count, file.find_int("split.count", 0, kMostParts));
  if (count.value_or(1) <= 1) return GgufPart{};
  PARLANCE_TRY(const auto index, file.find_int("split.no", 0, *count - 1));
  return GgufPart{.index = index.value_or(0), .count = *count};
}

std::optional<std::filesystem::path> path_of_part(const std::filesystem::path& path, const GgufPart& part,
                                                  int64_t index) {
  std::string name = path.filename().string();
  const std::string own = ending(part, part.index);
  if (!name.ends_with(own)) return std::nullopt;
  name.resize(name.size() - own.size());
  return path.parent_path() / (name + ending(part, index));
}

Result<GgufFile> GgufFile::join_parts(std::shared_ptr<Contents> opened, const GgufPart& which,
                                      const std::filesystem::path& path) {
  std::vector<std::shared_ptr<Contents>> parts;
  size_t n_tensors = 0;
  for (int64_t index = 0; index < which.count; ++index) {
    const auto part_path = path_of_part(path, which, index);
    if (!part_path) {
      return fail(ErrorCode::unsupported,
                  "{}: {} of a split model, whose name should end in {}; name it and the others beside it so",
                  path.string(), words(which), ending(which, which.index));
    }
    if (index == which.index) {
      parts.push_back(opened);
    } else if (auto part = Contents::open(*part_path)) {
      parts.push_back(*std::move(part));
    } else {
      Error error = std::move(part).error();
      error.message += fmt::format("; it is part {} of {} of the model: get it again, beside the others",
                                   index + 1, which.count);
      return tl::unexpected(std::move(error));
    }
    PARLANCE_TRY(const GgufPart found, part_of(GgufFile(parts.back())));
    if (found.index != index || found.count != which.count) {
      return fail(ErrorCode::corrupt_file,
                  "{}: says that it is {}, expected part {} of {}; get all parts of the model again",
                  parts.back()->name, words(found), index + 1, which.count);
    }
    n_tensors += parts.back()->tensors.size();
  }

  Contents& first = *parts.front();
  PARLANCE_TRY(const auto expected, GgufFile(parts.front()).find_int("split.tensors.count", 0, INT64_MAX));
  if (expected.value_or(static_cast<int64_t>(n_tensors)) != static_cast<int64_t>(n_tensors)) {
    return fail(ErrorCode::corrupt_file,
                "{}: says that the parts have {} tensors, they have {}; get all parts of the model again",
                first.name, *expected, n_tensors);
  }
  std::erase_if(first.metadata, [](const auto& record) { return record.first.starts_with(kKeys); });
  first.key_index.build(first.metadata);
  for (size_t i = 1; i < parts.size(); ++i) {
    first.tensors.insert(first.tensors.end(), parts[i]->tensors.begin(), parts[i]->tensors.end());
  }
  first.tensor_index.build(first.tensors);
  if (const auto twice = first.tensor_index.duplicate(first.tensors)) {
    return fail(ErrorCode::corrupt_file, "{}: tensor {} is in two parts of the model; get all of them again",
                first.name, printable(*twice));
  }
  first.other_parts.assign(parts.begin() + 1, parts.end());
  return GgufFile(std::move(parts.front()));
}

}  // namespace parlance
