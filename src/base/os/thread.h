// Threads and the processors that they run on, as the system sees them.
#pragma once

#include <string>
#include <thread>
#include <vector>

namespace parlance {

// The numbers of the processors that this process may run on (its affinity mask), in order.
std::vector<int> usable_processors();

// How many processors of the machine are switched on.
int n_online_processors();

// Where the system can: what debuggers and `top` call the thread (15 bytes at most), and the only processor
// that it runs on.
void name_thread(std::thread& thread, const std::string& name);
void bind_thread(std::thread& thread, int processor);

}  // namespace parlance
