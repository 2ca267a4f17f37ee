// Memory of this process and of the machine, as the system sees them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace parlance {

// Gives memory that was freed back to the system, of which the heap keeps some for later. Takes milliseconds:
// for when something large has gone.
void return_free_memory();

// Bytes of this process that lie in the machine's memory: its own and those of files that it maps; 0:
// unknown.
size_t resident_memory();

// Of the machine, in bytes: all, and what nobody uses for anything (files that could be dropped are in use
// here). 0: unknown.
struct MachineMemory {
  size_t total = 0, unused = 0;
};
MachineMemory machine_memory();

// Bytes of memory that this process may still take without others' being pushed out: what the system calls
// available, within the limit of the process's control group. 0: unknown.
size_t available_memory();

// Bytes of the processor's last cache; 0: unknown.
size_t last_cache_bytes();

// Zeroed pages of the process's own, in huge pages where the system has them: what is read end to end through
// small ones costs up to a third of the bandwidth.
class OwnPages {
 public:
  // Begins at a multiple of `alignment`, a power of two, and is as long as the next multiple of it. None
  // where the system gives none; it may promise more than it has and end the process when the promise is
  // called in.
  static std::optional<OwnPages> map(size_t bytes, size_t alignment);

  OwnPages(OwnPages&& other) noexcept;
  OwnPages& operator=(OwnPages&& other) noexcept;
  ~OwnPages();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit OwnPages(std::span<std::byte> bytes) : bytes_(bytes) {}

  std::span<std::byte> bytes_;
};

}  // namespace parlance
