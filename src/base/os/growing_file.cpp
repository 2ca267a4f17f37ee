#include "base/os/growing_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/os/file_error.h"

namespace parlance {

Result<GrowingFile> GrowingFile::open(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  GrowingFile file;
  file.path_ = path;
  file.fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file.fd_ < 0) return file_error("create", path, errno);
  struct stat status;
  if (::fstat(file.fd_, &status) != 0) return file_error("open", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::invalid_argument, "{} is there and not a regular file; move it away",
                path.string());
  }
  file.size_ = static_cast<uint64_t>(status.st_size);
  return file;
}

GrowingFile::GrowingFile(GrowingFile&& other) noexcept {
  *this = std::move(other);
}

GrowingFile& GrowingFile::operator=(GrowingFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  return *this;
}

GrowingFile::~GrowingFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> GrowingFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return file_error("write", path_, n < 0 ? errno : EIO);
    size_ += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Result<void> GrowingFile::clear() {
  if (::ftruncate(fd_, 0) != 0) return file_error("write", path_, errno);
  size_ = 0;
  return {};
}

Result<void> GrowingFile::rename_to(const std::filesystem::path& path) {
  if (::fsync(fd_) != 0 || ::rename(path_.c_str(), path.c_str()) != 0) {
    return file_error("write", path, errno);
  }
  sync_folder(path);
  path_ = path;
  return {};
}

}  // namespace parlance
