#include "hub/cache.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/os/file.h"
#include "base/os/folder.h"
#include "hub/model_name.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

constexpr size_t kCommitDigits = 40;
constexpr size_t kMostRefBytes = 256;

std::string folder_name(const std::string& repo) {
  std::string name = "models--" + repo;
  for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/'))
    name.replace(slash, 1, "--");
  return name;
}

bool is_commit(std::string_view text) {
  return text.size() == kCommitDigits &&
         std::ranges::all_of(text, [](char c) { return ascii::hex_value(c) >= 0; });
}

tl::unexpected<Error> cache_error(const fs::path& path, const std::error_code& error) {
  return fail(ErrorCode::io,
              "cannot write {}: {}; check the folder's permissions, or name another with HF_HOME",
              path.string(), error.message());
}

}  // namespace

HubCache::HubCache(fs::path root, const std::string& repo)
    : locks_(root / ".locks" / folder_name(repo)), folder_(root / folder_name(repo)) {}

fs::path HubCache::blob(const std::string& digest) const {
  return folder_ / "blobs" / digest;
}

fs::path HubCache::incomplete(const std::string& digest) const {
  return folder_ / "blobs" / (digest + ".incomplete");
}

fs::path HubCache::lock(const std::string& digest) const {
  return locks_ / (digest + ".lock");
}

fs::path HubCache::snapshot(const std::string& commit) const {
  return folder_ / "snapshots" / commit;
}

std::string HubCache::commit_of(const std::string& revision) const {
  if (is_commit(revision)) return revision;
  std::string commit = read_text_file(folder_ / "refs" / revision, kMostRefBytes).value_or("");
  while (!commit.empty() && ascii::is_blank(commit.back())) commit.pop_back();
  return is_commit(commit) ? commit : std::string();
}

Result<void> HubCache::set_commit(const std::string& revision, const std::string& commit) const {
  if (is_commit(revision) || commit_of(revision) == commit) return {};
  const fs::path path = folder_ / "refs" / revision;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return cache_error(path, error);
  PARLANCE_TRY(AtomicFile file, AtomicFile::create(path));
  PARLANCE_CHECK(file.write(commit));
  return file.commit();
}

bool HubCache::has(const std::string& commit, const std::string& path, uint64_t n_bytes) const {
  std::error_code error;
  const fs::path file = snapshot(commit) / path;
  return is_file(file) && fs::file_size(file, error) == n_bytes && !error;
}

Result<void> HubCache::link(const std::string& commit, const std::string& path,
                            const std::string& digest) const {
  const fs::path place = snapshot(commit) / path;
  std::error_code error;
  fs::create_directories(place.parent_path(), error);
  if (error) return cache_error(place, error);
  const fs::path target = blob(digest).lexically_relative(place.parent_path());
  if (fs::read_symlink(place, error) == target && !error) return {};
  // The link appears whole: somebody may be loading from the one that is there.
  const fs::path next = place.string() + fmt::format(".{}.link", digest.substr(0, 8));
  fs::remove(next, error);
  fs::create_symlink(target, next, error);
  if (!error) {
    fs::rename(next, place, error);
    return error ? Result<void>(cache_error(place, error)) : Result<void>();
  }
  // A disk without links has the file in the tree itself.
  std::error_code failed;
  fs::rename(blob(digest), place, failed);
  if (failed) return cache_error(place, failed);
  return {};
}

std::vector<std::string> HubCache::files_of(const std::string& commit) const {
  const fs::path root = snapshot(commit);
  std::vector<std::string> paths;
  for (const fs::path& path : files_below(root).value_or(std::vector<fs::path>())) {
    if (is_file(path)) paths.push_back(path.lexically_relative(root).generic_string());
  }
  return paths;
}

}  // namespace parlance
