// Memory of this process, as the system sees it.
#pragma once

#include <cstddef>

namespace parlance {

// Gives memory that was freed back to the system, of which the heap keeps some for later. Takes milliseconds:
// for when something large has gone.
void return_free_memory();

// Bytes of this process that lie in the machine's memory: its own and those of files that it maps; 0:
// unknown.
size_t resident_memory();

}  // namespace parlance
