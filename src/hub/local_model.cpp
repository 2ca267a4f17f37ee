#include "hub/local_model.h"

#include <span>

#include "base/os/folder.h"
#include "bundle/sha256.h"
#include "hub/cache.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

constexpr size_t kKeyDigits = 16;

tl::unexpected<Error> not_here(const ModelName& name) {
  return fail(ErrorCode::not_found, "{} is not on this machine; fetch it with: parlance pull {}", name.text(),
              name.text());
}

}  // namespace

LocalModel local_model(const fs::path& folder, const ChosenFiles& chosen) {
  const auto below = [&](const std::string& path) { return path.empty() ? fs::path() : folder / path; };
  return {.kind = chosen.kind,
          .folder = folder,
          .model = below(chosen.model),
          .mmproj = below(chosen.mmproj),
          .codec = below(chosen.codec)};
}

Result<fs::path> place_of_address(const std::string& url, const HubSettings& settings) {
  std::string_view path = url;
  path = path.substr(0, path.find_first_of("?#"));
  const size_t host = path.find("://");
  const size_t slash = path.rfind('/');
  std::string file(slash == path.npos || slash < host + 3 ? std::string_view() : path.substr(slash + 1));
  if (!is_safe_name(file)) {
    return fail(
        ErrorCode::invalid_argument,
        "{}: the address ends in no name of a file; give that of the file itself, or ORG/NAME of a hub", url);
  }
  const std::string key = sha256(std::as_bytes(std::span(url.data(), url.size()))).substr(0, kKeyDigits);
  return settings.own_cache / "models" / key / file;
}

Result<LocalModel> find_local_model(const ModelName& name, const HubSettings& settings) {
  if (name.repo.empty()) {
    PARLANCE_TRY(const fs::path place, place_of_address(name.url, settings));
    if (!is_file(place)) return not_here(name);
    return LocalModel{.folder = place.parent_path(), .model = place, .mmproj = {}, .codec = {}};
  }
  const HubCache cache(settings.cache, name.repo);
  const std::string commit = cache.commit_of(name.revision);
  if (commit.empty()) return not_here(name);
  const auto chosen = choose_files(name, cache.files_of(commit));
  if (!chosen) return not_here(name);
  return local_model(cache.snapshot(commit), *chosen);
}

Result<LocalModel> find_local_model(std::string_view text) {
  PARLANCE_TRY(const HubSettings settings, hub_settings());
  PARLANCE_TRY(const ModelName name, parse_model_name(text, settings.endpoint));
  return find_local_model(name, settings);
}

}  // namespace parlance
