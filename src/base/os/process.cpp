#include "base/os/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace parlance {

namespace {

size_t n_entries(const char* folder) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  size_t n = 0;
  for (const std::filesystem::directory_iterator end; !error && entries != end; entries.increment(error)) ++n;
  return n;
}

// The machine's start and the process's behind it, in ticks: field 22 of its line, which follows a name in
// brackets that may hold blanks.
double started_unix_s() {
  std::ifstream own("/proc/self/stat"), machine("/proc/stat");
  std::string line;
  if (!std::getline(own, line) || line.rfind(')') == std::string::npos) return 0;
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string skipped;
  for (int i = 3; i < 22; ++i) fields >> skipped;
  double ticks = 0;
  if (!(fields >> ticks)) return 0;
  for (std::string key; std::getline(machine, line);) {
    std::istringstream words(line);
    double boot_s = 0;
    if (words >> key && key == "btime" && words >> boot_s)
      return boot_s + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return 0;
}

}  // namespace

ProcessUse process_use() {
  ProcessUse use;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    use.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  use.started_unix_s = started_unix_s();
  use.n_threads = n_entries("/proc/self/task");
  const size_t n_open = n_entries("/proc/self/fd");
  use.n_open_files = n_open > 0 ? n_open - 1 : 0;  // one of them is the folder's own
  return use;
}

int process_id() {
  return static_cast<int>(getpid());
}

}  // namespace parlance
