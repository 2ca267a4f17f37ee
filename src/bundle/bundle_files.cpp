#include "bundle/bundle_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/os/file.h"
#include "bundle/known_digests.h"
#include "gguf/reader.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

// Whether a file is for something, by its general.architecture.
using IsArchitecture = std::function<bool(std::string_view architecture)>;

Result<FilePair> find_pair(const ManifestOnDisk& bundle, std::string_view group,
                           const std::vector<ManifestFile>& files, const char* expected,
                           const IsArchitecture& is_model, const IsArchitecture& is_second) {
  FilePair pair;
  std::vector<std::string> found;
  bool is_clear = true;
  for (const ManifestFile& file : files) {
    PARLANCE_TRY(const fs::path path, find_file(bundle.folder, file));
    PARLANCE_TRY(const GgufFile gguf, GgufFile::open(path));
    PARLANCE_TRY(const std::string_view architecture, gguf.get_string("general.architecture"));
    const bool is_the_second = is_second(architecture);
    found.push_back(fmt::format("{} ({})", file.path, architecture.substr(0, 40)));
    if (!is_the_second && !is_model(architecture)) continue;
    fs::path& place = is_the_second ? pair.second : pair.model;
    is_clear &= place.empty();
    place = path;
  }
  if (is_clear && !pair.model.empty() && !pair.second.empty()) return pair;
  return fail(ErrorCode::corrupt_file,
              "{}: files.{}: expected {}, found {}; correct it, or write the manifest anew with 'parlance "
              "bundle make'",
              bundle.name, group, expected,
              found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", ")));
}

bool is_aligner(const ManifestFile& file) {
  return file.path.find("aligner") != std::string::npos;
}

Result<FilePair> find_hearing_pair(const ManifestOnDisk& bundle, const std::vector<ManifestFile>& files) {
  const auto is_encoder = [](std::string_view name) { return name == "clip"; };
  return find_pair(bundle, "asr", files, "one language model and one audio encoder (architecture clip)",
                   std::not_fn(is_encoder), is_encoder);
}

// The contents of a hub's cache, where the bundle is one of its trees of links (hub/cache.h); else empty.
fs::path blobs_of(const fs::path& folder) {
  const fs::path snapshots = folder.parent_path();
  const bool is_snapshot = snapshots.filename() == "snapshots" &&
                           snapshots.parent_path().filename().string().starts_with("models--");
  return is_snapshot ? snapshots.parent_path() / "blobs" : fs::path();
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto [in_folder, in_path] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return in_folder == folder.end();
}

}  // namespace

Result<ManifestOnDisk> read_manifest(const fs::path& folder) {
  const fs::path path = folder / kManifestName;
  std::error_code ec;
  if (!fs::exists(path, ec)) {
    return fail(ErrorCode::not_found, "{}: there is no {}; write one with 'parlance bundle make'",
                folder.string(), kManifestName);
  }
  PARLANCE_TRY(const std::string text, read_text_file(path, kMostManifestBytes));
  PARLANCE_TRY(Manifest manifest, parse_manifest(path.string(), text));
  return ManifestOnDisk{folder, path.string(), std::move(manifest)};
}

Result<fs::path> find_file(const fs::path& folder, const ManifestFile& file) {
  const fs::path path = folder / file.path;
  std::error_code ec;
  const fs::path real = fs::canonical(path, ec);
  if (ec) {
    return fail(ErrorCode::not_found,
                "{}: the manifest names this file, and it cannot be found ({}); copy the bundle again",
                path.string(), ec.message());
  }
  const fs::path real_folder = fs::canonical(folder, ec);
  const fs::path blobs = blobs_of(real_folder);
  if (ec || !(is_below(real, real_folder) || (!blobs.empty() && is_below(real, blobs)))) {
    return fail(ErrorCode::invalid_argument,
                "{}: a link leads out of the bundle to {}; put the file itself there", path.string(),
                real.string());
  }
  if (fs::is_regular_file(real, ec)) return path;
  return fail(ErrorCode::invalid_argument, "{}: expected a regular file; copy the bundle again",
              path.string());
}

Result<void> check_checksum(const fs::path& path, const ManifestFile& file, const std::string& found) {
  constexpr size_t kShown = 12;
  if (found == file.sha256) return {};
  return fail(ErrorCode::corrupt_file,
              "{}: its SHA-256 is {}…, the manifest says {}…: the file was damaged or replaced; copy the "
              "bundle again, or, if you changed it yourself, run 'parlance bundle make'",
              path.string(), found.substr(0, kShown), file.sha256.substr(0, kShown));
}

Result<void> check_checksums(const fs::path& folder, std::span<const ManifestFile> files) {
  std::vector<fs::path> paths;
  for (const ManifestFile& file : files) {
    PARLANCE_TRY(paths.emplace_back(), find_file(folder, file));
  }
  static KnownDigests known;  // models are let go and loaded again while the program runs
  const std::vector<Result<FileDigest>> digests = known.of(paths);
  for (size_t i = 0; i < files.size(); ++i) {
    if (!digests[i]) return tl::unexpected(digests[i].error());
    PARLANCE_CHECK(check_checksum(paths[i], files[i], digests[i]->sha256));
  }
  return {};
}

std::vector<ManifestFile> asr_files(const Manifest& manifest) {
  std::vector<ManifestFile> files = manifest.files_of("asr");
  std::erase_if(files, is_aligner);
  return files;
}

std::vector<ManifestFile> aligner_files(const Manifest& manifest) {
  std::vector<ManifestFile> files = manifest.files_of("asr");
  std::erase_if(files, std::not_fn(is_aligner));
  return files;
}

Result<FilePair> find_asr_pair(const ManifestOnDisk& bundle) {
  return find_hearing_pair(bundle, asr_files(bundle.manifest));
}

Result<FilePair> find_aligner_pair(const ManifestOnDisk& bundle) {
  return find_hearing_pair(bundle, aligner_files(bundle.manifest));
}

Result<FilePair> find_voice_pair(const ManifestOnDisk& bundle) {
  return find_pair(
      bundle, "voice", bundle.manifest.files_of("voice"),
      "one file of the architecture omnivoice-lm and one of omnivoice-tokenizer",
      [](std::string_view name) { return name == "omnivoice-lm"; },
      [](std::string_view name) { return name == "omnivoice-tokenizer"; });
}

bool is_voice_preset(std::string_view path) {
  return path.starts_with("cache/voice-preset-") && path.ends_with(".bin");
}

}  // namespace parlance
