#include "base/os/huge_pages.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "base/checked.h"
#include "base/os/memory.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace parlance {

namespace {

#ifdef __linux__

constexpr size_t kPieceBytes = size_t{16} << 20;  // moved at a time: a few milliseconds
// Left for others, beside the bytes that are moved: this part of them and a fixed amount.
constexpr size_t kSpareDivisor = 4;
constexpr size_t kSpareBytes = size_t{512} << 20;

// Bytes of a huge page that the system gives on request; 0 when it gives none.
size_t huge_page_bytes() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string modes;
  std::getline(file, modes);
  if (modes.find("[always]") == std::string::npos && modes.find("[madvise]") == std::string::npos) return 0;
  std::ifstream size("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
  size_t bytes = 0;
  return size >> bytes && bytes <= kPieceBytes ? bytes : 0;
}

#endif

}  // namespace

#ifdef __linux__

HugePageMove::HugePageMove(std::span<const std::byte> mapping) {
  const size_t huge_page = huge_page_bytes();
  if (huge_page == 0) return;
  const auto first = reinterpret_cast<uintptr_t>(mapping.data());
  const uintptr_t begin = align_up<uintptr_t>(first, huge_page);
  const uintptr_t end = (first + mapping.size()) / huge_page * huge_page;
  if (begin >= end) return;
  const size_t n = end - begin;
  if (available_memory() < n + n / kSpareDivisor + kSpareBytes) return;
  try {
    thread_ = std::thread([this, begin, n, huge_page] {
      move_all({reinterpret_cast<std::byte*>(begin), n}, huge_page);
    });
  } catch (const std::system_error&) {  // no thread to be had: the pages stay as they are
  }
}

void HugePageMove::move_all(std::span<std::byte> whole_pages, size_t huge_page) {
  for (size_t at = 0; at < whole_pages.size() && !stop_.load(std::memory_order_relaxed);) {
    const std::span<std::byte> piece =
        whole_pages.subspan(at, std::min(align_up(kPieceBytes, huge_page), whole_pages.size() - at));
    const size_t reserved = piece.size() + huge_page;
    void* memory = ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    auto* const start = static_cast<std::byte*>(memory);
    auto* const copy =
        reinterpret_cast<std::byte*>(align_up<uintptr_t>(reinterpret_cast<uintptr_t>(start), huge_page));
    ::madvise(copy, piece.size(), MADV_HUGEPAGE);
    std::memcpy(copy, piece.data(), piece.size());
    // The system changes the page table in one step, which readers that meet it wait for.
    const bool is_moved =
        ::mprotect(copy, piece.size(), PROT_READ) == 0 &&
        ::mremap(copy, piece.size(), piece.size(), MREMAP_MAYMOVE | MREMAP_FIXED, piece.data()) != MAP_FAILED;
    const auto before = static_cast<size_t>(copy - start);
    if (before > 0) ::munmap(start, before);
    if (before < huge_page) ::munmap(copy + piece.size(), huge_page - before);
    if (!is_moved) {
      ::munmap(copy, piece.size());
      return;
    }
    at += piece.size();
    bytes_moved_.store(at, std::memory_order_release);
  }
}

#else

HugePageMove::HugePageMove(std::span<const std::byte>) {}

#endif

void HugePageMove::wait() {
  if (thread_.joinable()) thread_.join();
}

HugePageMove::~HugePageMove() {
  stop_.store(true, std::memory_order_relaxed);
  wait();
}

}  // namespace parlance
