// Which pages of a cache are in use, and by how many. Numbers only: what a page holds, and where its bytes
// lie, is the cache's business.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace parlance {

// Pages 0 .. n_pages - 1, each free or held by some sequences and the prefix tree. A page with one holder may
// be written by it; one with several is only read. Safe to use from several threads.
class PagePool {
 public:
  explicit PagePool(int32_t n_pages);

  // A free page, which has one holder then; none when all are in use.
  std::optional<int32_t> take();
  // One holder more, which whoever already holds the page may add.
  void hold(int32_t page);
  // One holder less; the last one's makes the page free.
  void release(int32_t page);

  int32_t holders(int32_t page) const;
  std::vector<int32_t> all_holders() const;  // by page, at one moment
  int32_t n_pages() const { return static_cast<int32_t>(holders_.size()); }
  int32_t n_free() const;
  // Of the pages that the next n calls of take() give, those that nobody had before.
  struct Range {
    int32_t first, end;
    bool operator==(const Range&) const = default;
  };
  Range new_among_next(int64_t n) const;

 private:
  mutable std::mutex mutex_;
  std::vector<int32_t> holders_;  // of each page; 0: free
  std::vector<int32_t> free_;     // the last one is taken next
  int32_t n_used_ = 0;            // pages from this one on were never taken, and are the first of free_
};

// A cache has pages in the formats that the user chose, and pages in f16 for the positions that stay exact.
enum class PageKind : uint8_t { main, exact };
inline constexpr std::array kPageKinds{PageKind::main, PageKind::exact};

// Where the keys and values of page_tokens positions of a sequence lie: in an exact page (not compressed
// yet), in a main one (the exact one was given back), or in both with the same content. -1: not there.
struct PageRef {
  int32_t main = -1;
  int32_t exact = -1;

  int32_t& operator[](PageKind kind) { return kind == PageKind::main ? main : exact; }
  int32_t operator[](PageKind kind) const { return kind == PageKind::main ? main : exact; }
  bool valid() const { return main >= 0 || exact >= 0; }
  bool operator==(const PageRef&) const = default;
};

// A number of pages of each kind.
struct PageCounts {
  int32_t main = 0;
  int32_t exact = 0;

  int32_t& operator[](PageKind kind) { return kind == PageKind::main ? main : exact; }
  int32_t operator[](PageKind kind) const { return kind == PageKind::main ? main : exact; }
  bool operator==(const PageCounts&) const = default;
};

// The two pools of a cache.
class PagePools {
 public:
  explicit PagePools(PageCounts n_pages) : main_(n_pages.main), exact_(n_pages.exact) {}

  PagePool& operator[](PageKind kind) { return kind == PageKind::main ? main_ : exact_; }
  const PagePool& operator[](PageKind kind) const { return kind == PageKind::main ? main_ : exact_; }

  // Both halves of a reference, as far as they are there.
  void hold(PageRef ref);
  void release(PageRef ref);

  PageCounts n_free() const { return {main_.n_free(), exact_.n_free()}; }

 private:
  PagePool main_;
  PagePool exact_;
};

}  // namespace parlance
