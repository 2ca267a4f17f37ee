#include "base/os/memory.h"

#include <unistd.h>

#include <fstream>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace parlance {

void return_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

size_t resident_memory() {
  std::ifstream file("/proc/self/statm");
  size_t n_pages = 0, n_resident = 0;
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  return file >> n_pages >> n_resident && page_bytes > 0 ? n_resident * static_cast<size_t>(page_bytes) : 0;
}

}  // namespace parlance
