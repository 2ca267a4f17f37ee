// Threads and the processors that they run on, as the system sees them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace parlance {

// The numbers of the processors that this process may run on (its affinity mask), in order.
std::vector<int> usable_processors();

// Processors in the order in which threads that compute take them best: one of each core before the second of
// any (SMT numbers them side by side on some machines, half the machine apart on others), those of faster
// cores first. `system` is the folder in which Linux describes them; where it does not, in order.
std::vector<int> processors_by_core(std::span<const int> processors,
                                    const std::filesystem::path& system = "/sys/devices/system/cpu");

// How many processors of the machine are switched on.
int n_online_processors();

// Where the system can: what debuggers and `top` call the thread (15 bytes at most), and the only processor
// that it runs on.
void name_thread(std::thread& thread, const std::string& name);
void bind_thread(std::thread& thread, int processor);

}  // namespace parlance
