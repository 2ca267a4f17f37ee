// What this process takes of the machine, as its operating system counts it.
#pragma once

#include <cstddef>

namespace parlance {

struct ProcessUse {
  double cpu_seconds = 0;     // of all its threads, in itself and in the system
  double started_unix_s = 0;  // 0: unknown
  size_t n_threads = 0;       // 0: unknown
  size_t n_open_files = 0;    // descriptors, sockets among them; 0: unknown
};

ProcessUse process_use();

int process_id();

}  // namespace parlance
