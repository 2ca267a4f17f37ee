#include "base/os/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/os/file_error.h"

namespace parlance {

namespace {

// Opens a regular file, whose descriptor the caller closes, also after an error.
Result<void> open_regular(const std::filesystem::path& path, int& fd, size_t& size) {
  // Not blocking, or the name of a pipe would wait here for a writer.
  fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return file_error("open", path, errno);
  struct stat status;
  if (::fstat(fd, &status) != 0) return file_error("open", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::invalid_argument, "{} is not a regular file; name one that is", path.string());
  }
  size = static_cast<size_t>(status.st_size);
  return {};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  MappedFile file;
  file.path_ = path;
  PARLANCE_CHECK(open_regular(path, file.fd_, file.size_));
  if (file.size_ == 0) return file;
  void* mapping = ::mmap(nullptr, file.size_, PROT_READ, MAP_SHARED, file.fd_, 0);
  if (mapping == MAP_FAILED) {
    file.size_ = 0;
    return file_error("map", path, errno);
  }
  file.data_ = static_cast<const std::byte*>(mapping);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept {
  *this = std::move(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
  if (fd_ >= 0) ::close(fd_);
}

bool MappedFile::still_whole() const {
  struct stat status;
  return ::fstat(fd_, &status) == 0 && static_cast<size_t>(status.st_size) >= size_;
}

void MappedFile::prefetch() const {
  if (data_) ::madvise(const_cast<std::byte*>(data_), size_, MADV_WILLNEED);
}

Result<ReadableFile> ReadableFile::open(const std::filesystem::path& path) {
  ReadableFile file;
  file.path_ = path;
  PARLANCE_CHECK(open_regular(path, file.fd_, file.size_));
  return file;
}

ReadableFile::ReadableFile(ReadableFile&& other) noexcept {
  *this = std::move(other);
}

ReadableFile& ReadableFile::operator=(ReadableFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  return *this;
}

ReadableFile::~ReadableFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> ReadableFile::read(size_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_error("read", path_, errno);
    if (n == 0) {
      return fail(ErrorCode::corrupt_file,
                  "{}: the file ends at byte {}, {} more were expected; it was cut, write or fetch it again",
                  path_.string(), offset, bytes.size());
    }
    offset += static_cast<size_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

void ReadableFile::prefetch() const {
#ifdef POSIX_FADV_WILLNEED
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_WILLNEED);
#endif
}

PrivateFiles::PrivateFiles() : mask_(::umask(077)) {}

PrivateFiles::~PrivateFiles() {
  ::umask(static_cast<mode_t>(mask_));
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  AtomicFile file;
  file.path_ = path;
  std::error_code ec;
  if (std::filesystem::is_symlink(path, ec)) {
    // The link keeps pointing where it points, and the file behind it is replaced. A link to nothing is
    // replaced.
    const std::filesystem::path target = std::filesystem::canonical(path, ec);
    if (!ec) file.path_ = target;
  }
  const std::filesystem::file_status status = std::filesystem::status(file.path_, ec);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return fail(ErrorCode::invalid_argument, "{} is there and not a regular file; choose another name",
                path.string());
  }
  // Not mkstemp: the file gets the permissions that the user's mask gives to files.
  for (unsigned attempt = 0; file.fd_ < 0; ++attempt) {
    file.temporary_ = file.path_.string() + fmt::format(".{}-{}.part", ::getpid(), attempt);
    file.fd_ = ::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.fd_ < 0 && errno != EEXIST) return file_error("create", path, errno);
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept {
  *this = std::move(other);
}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(fd_, other.fd_);
  std::swap(written_, other.written_);
  return *this;
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() {
  if (fd_ < 0) return;
  ::close(fd_);
  fd_ = -1;
  ::unlink(temporary_.c_str());
}

tl::unexpected<Error> AtomicFile::closed() const {
  return fail(ErrorCode::io,
              "cannot write {}: it was finished or an earlier write failed; write it from the start",
              path_.string());
}

Result<void> AtomicFile::write(std::span<const std::byte> bytes) {
  if (fd_ < 0) return closed();
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : EIO;
      discard();
      return file_error("write", path_, error);
    }
    written_ += static_cast<size_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Result<void> AtomicFile::write(const std::string& text) {
  return write(std::as_bytes(std::span(text.data(), text.size())));
}

Result<void> AtomicFile::commit() {
  if (fd_ < 0) return closed();
  if (::fsync(fd_) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    discard();
    return file_error("write", path_, error);
  }
  ::close(fd_);
  fd_ = -1;
  sync_folder(path_);
  return {};
}

Result<std::string> read_text_file(const std::filesystem::path& path, size_t limit_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return file_error("open", path, errno);
  std::string text;
  char chunk[65536];
  ssize_t n = 1;
  while (n != 0 && text.size() <= limit_bytes) {
    n = ::read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    text.append(chunk, static_cast<size_t>(n));
  }
  const int error = errno;
  ::close(fd);
  if (n < 0) return file_error("read", path, error);
  if (text.size() > limit_bytes) {
    return fail(ErrorCode::invalid_argument, "{} is larger than {} bytes; give a smaller file", path.string(),
                limit_bytes);
  }
  return text;
}

}  // namespace parlance
