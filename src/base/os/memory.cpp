#include "base/os/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "base/checked.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace parlance {

namespace {

// What sysconf() says; 0 where it says nothing.
size_t system_number(int name) {
  return static_cast<size_t>(std::max(0L, ::sysconf(name)));
}

// The first number of a small file of the system, which may be "max"; 0 when there is none.
size_t number_in(const std::string& path) {
  std::ifstream file(path);
  size_t value = 0;
  return file >> value ? value : 0;
}

size_t available_to_system() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  for (size_t kib; file >> key >> kib; file.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    if (key == "MemAvailable:") return kib << 10;
  }
  return 0;
}

// What the control group (version 2) leaves; the largest number when it sets no limit.
size_t left_by_group() {
  std::string folder = "/sys/fs/cgroup";
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.rfind("0::", 0) == 0 && line.size() > 4) folder += line.substr(3);
  }
  const size_t limit = number_in(folder + "/memory.max");
  if (limit == 0) return std::numeric_limits<size_t>::max();
  return limit - std::min(limit, number_in(folder + "/memory.current"));
}

}  // namespace

void return_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

size_t resident_memory() {
  std::ifstream file("/proc/self/statm");
  size_t n_pages = 0, n_resident = 0;
  return file >> n_pages >> n_resident ? n_resident * system_number(_SC_PAGESIZE) : 0;
}

MachineMemory machine_memory() {
  MachineMemory memory{.total = system_number(_SC_PHYS_PAGES) * system_number(_SC_PAGESIZE)};
#ifdef _SC_AVPHYS_PAGES
  memory.unused = system_number(_SC_AVPHYS_PAGES) * system_number(_SC_PAGESIZE);
#endif
  return memory;
}

size_t available_memory() {
  return std::min(available_to_system(), left_by_group());
}

size_t last_cache_bytes() {
#ifdef _SC_LEVEL3_CACHE_SIZE
  return system_number(_SC_LEVEL3_CACHE_SIZE);
#else
  return 0;
#endif
}

std::optional<OwnPages> OwnPages::map(size_t bytes, size_t alignment) {
  const std::optional<size_t> wanted = checked_align_up(bytes, alignment);
  const std::optional<size_t> reserved = wanted ? checked_add(*wanted, alignment) : std::nullopt;
  if (!reserved) return std::nullopt;
  void* start = ::mmap(nullptr, *reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return std::nullopt;
  const auto first = reinterpret_cast<uintptr_t>(start);
  const uintptr_t base = align_up<uintptr_t>(first, alignment);
  if (base > first) ::munmap(start, base - first);
  const size_t behind = *reserved - (base - first) - *wanted;
  if (behind > 0) ::munmap(reinterpret_cast<void*>(base + *wanted), behind);
#ifdef MADV_HUGEPAGE
  ::madvise(reinterpret_cast<void*>(base), *wanted, MADV_HUGEPAGE);  // a refusal changes the speed only
#endif
  return OwnPages({reinterpret_cast<std::byte*>(base), *wanted});
}

OwnPages::OwnPages(OwnPages&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

OwnPages& OwnPages::operator=(OwnPages&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

OwnPages::~OwnPages() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace parlance
