#include "base/os/folder.h"

#include <algorithm>
#include <system_error>

namespace parlance {

namespace fs = std::filesystem;

namespace {

template <class Iterator>
Result<std::vector<fs::path>> list(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  // Stepped by hand: a range-for throws where a folder goes away meanwhile.
  for (Iterator entry(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored)) files.push_back(entry->path());
  }
  if (error) {
    const bool is_absent = error == std::errc::no_such_file_or_directory;
    return fail(is_absent ? ErrorCode::not_found : ErrorCode::io,
                "{}: the folder cannot be read ({}); check the path and its permissions", folder.string(),
                error.message());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

Result<std::vector<fs::path>> files_in(const fs::path& folder) {
  return list<fs::directory_iterator>(folder);
}

Result<std::vector<fs::path>> files_below(const fs::path& folder) {
  return list<fs::recursive_directory_iterator>(folder);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace parlance
