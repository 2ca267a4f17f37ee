#include "convert/weight_folder.h"

#include <set>

#include "base/os/environment.h"
#include "base/os/file.h"
#include "base/os/folder.h"
#include "gguf/contents.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostTextBytes = size_t{256} << 20;
constexpr const char* kIndex = "model.safetensors.index.json";

bool is_file_name(const std::string& name) {
  return !name.empty() && name.find('/') == name.npos && name.find('\\') == name.npos && name != "." &&
         name != "..";
}

}  // namespace

std::optional<Json> JsonFields::find(std::string_view key) const {
  auto value = object.member(key);
  return value && !value->is_null() ? value : std::nullopt;
}

Result<int64_t> JsonFields::integer(std::string_view key, int64_t min, int64_t max) const {
  const auto value = find(key);
  const auto number = value ? value->integer() : std::nullopt;
  if (number && *number >= min && *number <= max) return *number;
  return fail(ErrorCode::corrupt_file, "{}: {}: expected a whole number from {} to {}, found {}", name, key,
              min, max, value ? value->line().substr(0, 60) : "nothing");
}

Result<double> JsonFields::number(std::string_view key) const {
  const auto value = find(key);
  if (const auto number = value ? value->number() : std::nullopt) return *number;
  return fail(ErrorCode::corrupt_file, "{}: {}: expected a number, found {}", name, key,
              value ? value->line().substr(0, 60) : "nothing");
}

int64_t JsonFields::integer_or(std::string_view key, int64_t fallback) const {
  const auto value = find(key);
  return value ? value->integer().value_or(fallback) : fallback;
}

double JsonFields::number_or(std::string_view key, double fallback) const {
  const auto value = find(key);
  return value ? value->number().value_or(fallback) : fallback;
}

std::string JsonFields::text_or(std::string_view key, std::string_view fallback) const {
  const auto value = find(key);
  return value ? value->text().value_or(std::string(fallback)) : std::string(fallback);
}

bool JsonFields::truth_or(std::string_view key, bool fallback) const {
  const auto value = find(key);
  return value ? value->truth().value_or(fallback) : fallback;
}

Result<std::vector<int32_t>> JsonFields::integers(std::string_view key) const {
  const auto value = find(key);
  const auto elements = value ? value->elements() : std::nullopt;
  std::vector<int32_t> all;
  for (const Json& element : elements.value_or(std::vector<Json>())) {
    const auto number = element.integer();
    if (!number || *number < INT32_MIN || *number > INT32_MAX) break;
    all.push_back(static_cast<int32_t>(*number));
  }
  if (elements && all.size() == elements->size()) return all;
  return fail(ErrorCode::corrupt_file, "{}: {}: expected a list of whole numbers, found {}", name, key,
              value ? value->line().substr(0, 60) : "nothing");
}

Result<WeightFolder> WeightFolder::open(const fs::path& given) {
  WeightFolder folder;
  folder.path_ = absolute_path(given);
  if (!is_folder(folder.path_)) {
    return fail(ErrorCode::not_found, "{} is not a folder; name one with config.json and *.safetensors",
                given.string());
  }
  std::set<fs::path> paths;
  PARLANCE_TRY(const Json index, folder.read_json_if_there(kIndex));
  const auto map = index.member("weight_map");
  const auto places = map ? map->members() : std::nullopt;
  if (places) {
    for (const auto& [tensor, file] : *places) {
      const std::string name = file.text().value_or("");
      if (!is_file_name(name)) {
        return fail(ErrorCode::corrupt_file, "{}: {}: '{}' is no name of a file beside it", kIndex,
                    printable(tensor), printable(name));
      }
      paths.insert(folder.path_ / name);
    }
  } else {
    PARLANCE_TRY(const std::vector<fs::path> files, files_in(folder.path_));
    for (const fs::path& file : files) {
      if (file.extension() == ".safetensors") paths.insert(file);
    }
  }
  if (paths.empty()) {
    return fail(ErrorCode::not_found,
                "{}: there are no weights (*.safetensors); fetch them with: parlance pull ORG/NAME",
                folder.path_.string());
  }
  for (const fs::path& path : paths) {
    PARLANCE_TRY(SafetensorsFile file, SafetensorsFile::open(path));
    folder.files_.push_back(std::make_unique<SafetensorsFile>(std::move(file)));
    for (const SafeTensor& tensor : folder.files_.back()->tensors()) {
      if (!folder.tensors_.emplace(tensor.name, &tensor).second) {
        return fail(ErrorCode::corrupt_file,
                    "{}: the tensor {} is in another file too; leave one of them there", path.string(),
                    printable(tensor.name));
      }
      folder.file_of_[&tensor] = folder.files_.back().get();
    }
  }
  for (const auto& [tensor, file] : places.value_or(std::vector<std::pair<std::string, Json>>())) {
    if (!folder.find(tensor)) {
      return fail(ErrorCode::corrupt_file, "{}: {} is not in {}; fetch the files again", kIndex,
                  printable(tensor), file.text().value_or(""));
    }
  }
  return folder;
}

std::string WeightFolder::name() const {
  // models--ORG--NAME/snapshots/COMMIT
  const std::string repo = path_.parent_path().parent_path().filename().string();
  constexpr std::string_view kJoint = "--";
  if (path_.parent_path().filename() == "snapshots" && repo.starts_with("models--")) {
    return repo.substr(repo.rfind(kJoint) + kJoint.size());
  }
  return path_.filename().string();
}

const SafeTensor* WeightFolder::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

Result<std::vector<std::byte>> WeightFolder::read(const SafeTensor& tensor) const {
  return file_of_.at(&tensor)->read(tensor);
}

bool WeightFolder::has_file(const std::string& name) const {
  return is_file(path_ / name);
}

Result<std::string> WeightFolder::read_file(const std::string& name) const {
  return read_text_file(path_ / name, kMostTextBytes);
}

Result<Json> WeightFolder::read_json(const std::string& name) const {
  PARLANCE_TRY(const std::string text, read_file(name));
  auto json = Json::parse(text);
  if (json) return json;
  return fail(ErrorCode::corrupt_file, "{}: {}; fetch the file again", (path_ / name).string(),
              json.error().message);
}

Result<Json> WeightFolder::read_json_if_there(const std::string& name) const {
  if (!has_file(name)) return Json();
  return read_json(name);
}

}  // namespace parlance
