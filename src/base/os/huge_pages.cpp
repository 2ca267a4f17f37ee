#include "base/os/huge_pages.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/checked.h"

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

// Pages that lie within [begin, end).
std::span<std::byte> whole_pages(const std::byte* begin, const std::byte* end, size_t page) {
  const auto first = align_up<uintptr_t>(reinterpret_cast<uintptr_t>(begin), page);
  const uintptr_t last = reinterpret_cast<uintptr_t>(end) / page * page;
  return {reinterpret_cast<std::byte*>(first), first < last ? last - first : 0};
}

// What of a mapping lies between the stretches of copies, which are in order, in huge pages.
std::vector<std::span<std::byte>> pages_between(std::span<const std::byte> mapping,
                                                const std::vector<OwnCopy>& copies, size_t huge_page) {
  std::vector<std::span<std::byte>> between;
  const std::byte* at = mapping.data();
  const auto add = [&](const std::byte* end) {
    const std::span<std::byte> pages = whole_pages(at, end, huge_page);
    if (!pages.empty()) between.push_back(pages);
  };
  for (const OwnCopy& copy : copies) {
    add(copy.bytes.data());
    at = std::max(at, copy.bytes.data() + copy.bytes.size());
  }
  add(mapping.data() + mapping.size());
  return between;
}

size_t memory_of(const OwnCopy& copy) {
  constexpr size_t kCacheLine = 64;
  return align_up(copy.n_bytes, kCacheLine);
}

#endif

}  // namespace

#ifdef __linux__

HugePageMove::HugePageMove(std::span<const std::byte> mapping, std::vector<OwnCopy> copies) {
  const size_t huge_page = huge_page_bytes();
  if (huge_page == 0) return;
  std::ranges::sort(copies, {}, [](const OwnCopy& copy) { return copy.bytes.data(); });
  auto stretches = pages_between(mapping, copies, huge_page);
  size_t n = 0;
  for (const auto& pages : stretches) n += pages.size();
  for (const OwnCopy& copy : copies) n += memory_of(copy);
  if (n == 0 || available_memory() < n + n / kSpareDivisor + kSpareBytes) return;
  try {
    thread_ = std::thread([this, stretches = std::move(stretches), copies = std::move(copies), huge_page] {
      make_copies(copies, huge_page);
      for (const auto& pages : stretches) move_all(pages, huge_page);
    });
  } catch (const std::system_error&) {  // no thread to be had: the pages stay as they are
  }
}

void HugePageMove::make_copies(const std::vector<OwnCopy>& copies, size_t huge_page) {
  constexpr size_t kPage = 4096;  // or more: the system then lets go of fewer bytes
  size_t n = 0;
  for (const OwnCopy& copy : copies) n += memory_of(copy);
  std::optional<OwnPages> pages = n > 0 ? OwnPages::map(n, huge_page) : std::nullopt;
  if (!pages) return;
  const auto allocation = std::make_shared<const OwnPages>(*std::move(pages));
  std::byte* memory = allocation->bytes().data();
  for (const OwnCopy& copy : copies) {
    if (stop_.load(std::memory_order_relaxed)) return;
    copy.make({memory, copy.n_bytes}, allocation, stop_);
    memory += memory_of(copy);
    // Whoever still reads the file's pages gets them again.
    const auto read = whole_pages(copy.bytes.data(), copy.bytes.data() + copy.bytes.size(), kPage);
    if (!read.empty()) ::madvise(read.data(), read.size(), MADV_DONTNEED);
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
    bytes_moved_.fetch_add(piece.size(), std::memory_order_release);
  }
}

#else

HugePageMove::HugePageMove(std::span<const std::byte>, std::vector<OwnCopy>) {}

#endif

void HugePageMove::wait() {
  if (thread_.joinable()) thread_.join();
}

HugePageMove::~HugePageMove() {
  stop_.store(true, std::memory_order_relaxed);
  wait();
}

}  // namespace parlance
