// Moving read-only memory into huge pages while it is in use. A processor looks addresses up page by page;
// with pages of 4 KiB that costs up to a third of the speed at which weights are read.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/os/memory.h"

namespace parlance {

// A stretch of a mapping that somebody reads from a copy of their own, in another order. It is not moved:
// `make` gets n_bytes of huge pages for the copy, zeroed and on a cache line, of an allocation that it keeps
// as long as the copy is read. It gives up when `stop` is set.
struct OwnCopy {
  std::span<const std::byte> bytes;
  size_t n_bytes;
  std::function<void(std::span<std::byte> memory, std::shared_ptr<const OwnPages> allocation,
                     const std::atomic<bool>& stop)>
      make;
};

// Replaces the pages of a read-only mapping by huge pages with the same contents, piece by piece, on a thread
// of its own. Addresses stay, and readers notice nothing but the speed. Ends that do not fill a huge page
// stay as they are, and so does everything where the system has no huge pages or too little memory.
class HugePageMove {
 public:
  // Starts at once. The mapping must be page-aligned, nobody may write to it, and it must outlive this
  // object. Stretches of `copies` are part of the mapping; where nothing is moved, no copy is made either.
  explicit HugePageMove(std::span<const std::byte> mapping, std::vector<OwnCopy> copies = {});
  // Stops after the piece at hand.
  ~HugePageMove();
  HugePageMove(const HugePageMove&) = delete;
  HugePageMove& operator=(const HugePageMove&) = delete;

  // Returns when all is moved and copied.
  void wait();
  size_t bytes_moved() const { return bytes_moved_.load(std::memory_order_acquire); }

 private:
  void move_all(std::span<std::byte> whole_pages, size_t huge_page);
  void make_copies(const std::vector<OwnCopy>& copies, size_t huge_page);

  std::atomic<bool> stop_{false};
  std::atomic<size_t> bytes_moved_{0};
  std::thread thread_;
};

}  // namespace parlance
