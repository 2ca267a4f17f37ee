#include "bundle/make.h"

#include <algorithm>
#include <array>

#include "base/os/file.h"
#include "base/os/folder.h"
#include "base/parameter.h"
#include "bundle/bundle_files.h"
#include "bundle/sha256.h"
#include "gguf/reader.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

// A folder of a bundle and the group of the manifest that its files are in.
struct Place {
  std::string_view folder, group;
  bool is_always_there;  // as an empty list, too
};
constexpr std::array<Place, 14> kPlaces = {{{"text", "text", true},
                                            {"tts", "voice", true},
                                            {"voice", "voice", true},
                                            {"asr", "asr", true},
                                            {"vision", "vision", true},
                                            {"dflash", "dflash", true},
                                            {"mtp", "mtp", false},
                                            {"cache", "cache", true},
                                            {"embedding", "embedding", false},
                                            {"vad", "vad", false},
                                            {"wake", "wakeword", false},
                                            {"turn", "turn", false},
                                            {"emotion", "emotion", false},
                                            {"speaker", "speaker", false}}};

bool is_model(const fs::path& path) {
  constexpr std::array<std::string_view, 4> kEndings = {".gguf", ".bin", ".safetensors", ".onnx"};
  return std::ranges::find(kEndings, path.extension().string()) != kEndings.end();
}

// Paths of models below folder/place, relative to the folder, sorted.
Result<std::vector<std::string>> models_in(const fs::path& folder, std::string_view place) {
  std::vector<std::string> paths;
  for (const fs::path& path : files_below(folder / place).value_or(std::vector<fs::path>())) {
    if (!is_model(path)) continue;
    paths.push_back(path.lexically_relative(folder).generic_string());
    if (paths.size() > kMostManifestFiles) {
      return fail(ErrorCode::invalid_argument, "{}: more than {} models; a bundle has fewer",
                  (folder / place).string(), kMostManifestFiles);
    }
  }
  std::ranges::sort(paths);
  return paths;
}

// The tokens that a language model was made for.
Result<int64_t> context_of(const fs::path& path) {
  PARLANCE_TRY(const GgufFile file, GgufFile::open(path));
  PARLANCE_TRY(const std::string_view architecture, file.get_string("general.architecture"));
  return file.get_int(std::string(architecture) + ".context_length", 1, int64_t{1} << 40);
}

Result<std::vector<FileGroup>> find_groups(const fs::path& folder) {
  std::vector<FileGroup> groups;
  for (const Place& place : kPlaces) {
    PARLANCE_TRY(const std::vector<std::string> paths, models_in(folder, place.folder));
    if (paths.empty() && !place.is_always_there) continue;
    auto group = std::ranges::find(groups, place.group, &FileGroup::name);
    if (group == groups.end())
      group = groups.insert(groups.end(), {.name = std::string(place.group), .files = {}});
    for (const std::string& path : paths) group->files.push_back({.path = path, .sha256 = {}});
  }
  return groups;
}

// What files do not say; `name` becomes that of the file it is in.
Result<std::string> read_description(const fs::path& folder, const fs::path& given, std::string& name) {
  const fs::path path = given.empty() ? folder / kManifestName : given;
  name = path.string();
  std::error_code ec;
  if (given.empty() && !fs::exists(path, ec)) {
    return fail(ErrorCode::not_found,
                "{}: there is no manifest yet to take lineage, evals and ramBudgetMb from; give them in a "
                "JSON file with {}",
                folder.string(), set_to(Parameter::manifest_source, "FILE"));
  }
  return read_text_file(path, kMostManifestBytes);
}

}  // namespace

Result<std::string> make_manifest(const fs::path& folder, const MakeOptions& options) {
  std::error_code ec;
  if (!fs::is_directory(folder, ec)) {
    return fail(ErrorCode::not_found, "{} is not a folder; name that of a bundle", folder.string());
  }
  std::string description_name;
  PARLANCE_TRY(const std::string description,
               read_description(folder, options.description, description_name));
  ManifestHead head{options.id, options.tier, options.version, options.published_at, {}};
  PARLANCE_TRY(head.files, find_groups(folder));
  std::vector<ManifestFile*> files;
  std::vector<fs::path> paths;
  for (FileGroup& group : head.files) {
    for (ManifestFile& file : group.files) {
      if (!is_path_inside(file.path)) {
        return fail(ErrorCode::invalid_argument,
                    "{}: names of models have ASCII characters without ':' and '\\'; rename it",
                    (folder / file.path).string());
      }
      PARLANCE_TRY(paths.emplace_back(), find_file(folder, file));
      files.push_back(&file);
      if (group.name == "text") {
        PARLANCE_TRY(file.ctx, context_of(paths.back()));
      }
    }
  }
  const std::vector<Result<FileDigest>> digests = digests_of_files(paths);
  for (size_t i = 0; i < files.size(); ++i) {
    if (!digests[i]) return tl::unexpected(digests[i].error());
    files[i]->sha256 = digests[i]->sha256;
  }
  return make_manifest_text(description_name, head, description_name, description);
}

}  // namespace parlance
