#include "measure/system_info.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/os/file.h"
#include "base/os/thread.h"
#include "base/parse_number.h"

namespace parlance {

namespace {

constexpr std::array<std::string_view, 18> kFeatures = {
    "avx2",     "fma",      "f16c",        "bmi2",     "avx512f",     "avx512bw",
    "avx512dq", "avx512vl", "avx512_vnni", "avx_vnni", "avx512_bf16", "avx512_fp16",
    "amx_int8", "amx_bf16", "asimd",       "asimddp",  "i8mm",        "bf16"};

// A small file of the system; empty when there is none.
std::string contents(const char* path) {
  constexpr size_t kLimit = size_t{4} << 20;
  return read_text_file(path, kLimit).value_or("");
}

// What follows "key<spaces>:" on the first line that begins with key.
std::string field(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const size_t key_end = line.find_last_not_of(" \t", colon - 1) + 1;
    if (key_end != key.size()) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

std::vector<std::string> known_features(const std::string& words) {
  std::vector<std::string> features;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    if (std::find(kFeatures.begin(), kFeatures.end(), word) != kFeatures.end()) features.push_back(word);
  }
  return features;
}

size_t kib_field(const std::string& text, std::string_view key) {
  const std::string value = field(text, key);
  return static_cast<size_t>(parse_number<int64_t>(value.substr(0, value.find(' '))).value_or(0)) * 1024;
}

// "max 100000" or "50000 100000": microseconds of processor time in each period.
double read_quota() {
  std::istringstream stream(contents("/sys/fs/cgroup/cpu.max"));
  double quota = 0, period = 0;
  return stream >> quota >> period && period > 0 ? quota / period : 0;
}

size_t read_memory_limit() {
  const std::string text = contents("/sys/fs/cgroup/memory.max");
  return static_cast<size_t>(parse_number<int64_t>(text.substr(0, text.find('\n'))).value_or(0));
}

// The word in brackets: "always [madvise] never".
std::string read_huge_pages() {
  const std::string text = contents("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t begin = text.find('['), end = text.find(']');
  return begin < end && end != std::string::npos ? text.substr(begin + 1, end - begin - 1) : "";
}

}  // namespace

SystemInfo read_system_info() {
  const std::string processors = contents("/proc/cpuinfo");
  const std::string memory = contents("/proc/meminfo");
  SystemInfo info;
  info.processor = field(processors, "model name");
  info.features = known_features(field(processors, "flags") + " " + field(processors, "Features"));
  info.n_usable = static_cast<int>(usable_processors().size());
  info.n_online = n_online_processors();
  info.processor_quota = read_quota();
  info.memory_bytes = kib_field(memory, "MemTotal");
  info.available_bytes = kib_field(memory, "MemAvailable");
  info.memory_limit_bytes = read_memory_limit();
  info.huge_pages = read_huge_pages();
  return info;
}

bool reset_peak_memory() {
  std::ofstream control("/proc/self/clear_refs");
  control << 5 << std::flush;  // 5: the peak becomes what is held now
  return control.good();
}

size_t peak_memory_bytes() {
  return kib_field(contents("/proc/self/status"), "VmHWM");
}

}  // namespace parlance
