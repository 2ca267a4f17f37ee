#include "base/os/file_error.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace parlance {

namespace {

ErrorCode code_of(int error) {
  return error == ENOENT ? ErrorCode::not_found : ErrorCode::io;
}

std::string_view remedy_of(int error) {
  switch (error) {
    case ENOENT:
      return "check the path";
    case EACCES:
    case EPERM:
      return "check its permissions";
    case ENOSPC:
    case EDQUOT:
      return "free some disk space and try again";
    case EISDIR:
      return "name a file, not a folder";
    case EROFS:
      return "choose a folder that can be written";
    case EFBIG:
      return "raise the limit on file sizes (ulimit -f) or choose another disk";
    default:
      return "check the path and the disk";
  }
}

}  // namespace

tl::unexpected<Error> file_error(std::string_view action, const std::filesystem::path& path, int error) {
  return fail(code_of(error), "cannot {} {}: {}; {}", action, path.string(), std::strerror(error),
              remedy_of(error));
}

void sync_folder(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace parlance
