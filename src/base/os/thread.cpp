#include "base/os/thread.h"

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <tuple>

namespace parlance {

namespace {

// Processors with lower numbers of the same core, which it lists as "0-1" or "0,8".
int n_before_in_core(const std::filesystem::path& folder, int processor) {
  std::ifstream file(folder / "topology/thread_siblings_list");
  int n = 0;
  for (int first = 0; file >> first && first < processor;) {
    int last = first;
    if (file.peek() == '-') {
      file.get();
      if (!(file >> last)) break;
    }
    n += std::clamp(last, first, processor - 1) - first + 1;
    file.get();  // the comma
  }
  return n;
}

}  // namespace

std::vector<int> usable_processors() {
  std::vector<int> processors;
#ifdef __linux__
  // A set for more processors than the static cpu_set_t holds is asked for until the kernel's fits.
  for (int capacity = CPU_SETSIZE; capacity <= 64 * CPU_SETSIZE; capacity *= 2) {
    std::vector<cpu_set_t> set(static_cast<size_t>(capacity) / CPU_SETSIZE);
    const size_t bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) != 0) continue;
    for (int i = 0; i < capacity; ++i) {
      if (CPU_ISSET_S(i, bytes, set.data())) processors.push_back(i);
    }
    break;
  }
#endif
  if (processors.empty()) {
    for (int i = 0; i < std::max(1, static_cast<int>(std::thread::hardware_concurrency())); ++i) {
      processors.push_back(i);
    }
  }
  return processors;
}

std::vector<int> processors_by_core(std::span<const int> processors, const std::filesystem::path& system) {
  std::vector<std::tuple<int, int, int>> order;  // the second of a core, slowness, number
  for (const int processor : processors) {
    const std::filesystem::path folder = system / ("cpu" + std::to_string(processor));
    int capacity = 0;  // of 1024, that of the fastest core
    std::ifstream(folder / "cpu_capacity") >> capacity;
    order.emplace_back(n_before_in_core(folder, processor), -std::max(capacity, 0), processor);
  }
  std::ranges::sort(order);
  std::vector<int> ordered;
  for (const auto& [sibling, slowness, processor] : order) ordered.push_back(processor);
  return ordered;
}

int n_online_processors() {
  return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

void name_thread([[maybe_unused]] std::thread& thread, [[maybe_unused]] const std::string& name) {
#ifdef __linux__
  pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
#endif
}

void bind_thread([[maybe_unused]] std::thread& thread, [[maybe_unused]] int processor) {
#ifdef __linux__
  std::vector<cpu_set_t> set(static_cast<size_t>(processor) / CPU_SETSIZE + 1);
  CPU_SET_S(static_cast<size_t>(processor), set.size() * sizeof(cpu_set_t), set.data());
  pthread_setaffinity_np(thread.native_handle(), set.size() * sizeof(cpu_set_t), set.data());
#endif
}

}  // namespace parlance
