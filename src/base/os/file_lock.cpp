#include "base/os/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace parlance {

Result<std::optional<FileLock>> FileLock::try_lock(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) {
    return fail(ErrorCode::io, "cannot create {}: {}; check the folder's permissions", path.string(),
                std::strerror(errno));
  }
  FileLock lock(fd);
  int outcome = 0;
  do {
    outcome = ::flock(fd, LOCK_EX | LOCK_NB);
  } while (outcome != 0 && errno == EINTR);
  if (outcome == 0) return std::optional<FileLock>(std::move(lock));
  if (errno == EWOULDBLOCK) return std::optional<FileLock>();
  return fail(ErrorCode::io, "cannot lock {}: {}; choose a folder on another disk", path.string(),
              std::strerror(errno));
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace parlance
