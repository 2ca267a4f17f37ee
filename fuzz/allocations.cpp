// Replaces operator new and delete in fuzz targets by ones that count. They end in malloc and free, so
// sanitizers still see every block.
#include "allocations.h"

#include <malloc.h>

#include <atomic>
#include <new>

namespace {

std::atomic<size_t> allocated{0};
std::atomic<size_t> peak{0};

void* count(void* block) {
  if (!block) std::abort();
  const size_t size = malloc_usable_size(block);
  const size_t now = allocated.fetch_add(size, std::memory_order_relaxed) + size;
  size_t before = peak.load(std::memory_order_relaxed);
  while (now > before && !peak.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
  return block;
}

void release(void* block) {
  if (block) allocated.fetch_sub(malloc_usable_size(block), std::memory_order_relaxed);
  std::free(block);
}

void* aligned(size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<size_t>(alignment);
  return std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
}

}  // namespace

namespace parlance::fuzz {

size_t allocated_bytes() {
  return allocated.load(std::memory_order_relaxed);
}
size_t peak_allocated_bytes() {
  return peak.load(std::memory_order_relaxed);
}
void reset_peak() {
  peak.store(allocated_bytes(), std::memory_order_relaxed);
}

}  // namespace parlance::fuzz

void* operator new(size_t size) {
  return count(std::malloc(size));
}
void* operator new[](size_t size) {
  return count(std::malloc(size));
}
void* operator new(size_t size, std::align_val_t alignment) {
  return count(aligned(size, alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return count(aligned(size, alignment));
}
void operator delete(void* block) noexcept {
  release(block);
}
void operator delete[](void* block) noexcept {
  release(block);
}
void operator delete(void* block, size_t) noexcept {
  release(block);
}
void operator delete[](void* block, size_t) noexcept {
  release(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  release(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
  release(block);
}
void operator delete(void* block, size_t, std::align_val_t) noexcept {
  release(block);
}
void operator delete[](void* block, size_t, std::align_val_t) noexcept {
  release(block);
}
