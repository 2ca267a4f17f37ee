// Counts allocations: through the hooks of a sanitizer's allocator where there is one, else by replacing
// operator new and delete.
#include "allocations.h"

#include <atomic>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PARLANCE_SANITIZER_HOOKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PARLANCE_SANITIZER_HOOKS 1
#endif
#endif

namespace {

std::atomic<int64_t> allocated{0};
std::atomic<int64_t> peak{0};

void add(size_t size) {
  const auto added = static_cast<int64_t>(size);
  const int64_t now = allocated.fetch_add(added, std::memory_order_relaxed) + added;
  int64_t before = peak.load(std::memory_order_relaxed);
  while (now > before && !peak.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
}

void subtract(size_t size) {
  allocated.fetch_sub(size, std::memory_order_relaxed);
}

}  // namespace

namespace parlance::fuzz {

int64_t allocated_bytes() {
  return allocated.load(std::memory_order_relaxed);
}
int64_t peak_allocated_bytes() {
  return peak.load(std::memory_order_relaxed);
}
void reset_peak() {
  peak.store(allocated_bytes(), std::memory_order_relaxed);
}

}  // namespace parlance::fuzz

#ifdef PARLANCE_SANITIZER_HOOKS

// Declared here: not every compiler that has the functions installs their header.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                                         void (*on_free)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void* block);

namespace {

// Blocks from before the hooks are subtracted and were never added, so only differences of the sum mean
// something.
const bool installed = [] {
  __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, size_t size) { add(size); },
      [](const volatile void* block) { subtract(__sanitizer_get_allocated_size(block)); });
  return true;
}();

}  // namespace

#else

#include <malloc.h>

#include <new>

namespace {

void* count(void* block) {
  if (!block) std::abort();
  add(malloc_usable_size(block));
  return block;
}

void release(void* block) {
  if (block) subtract(malloc_usable_size(block));
  std::free(block);
}

void* aligned(size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<size_t>(alignment);
  return std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
}

}  // namespace

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

#endif
