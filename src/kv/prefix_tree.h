// What a cache remembers: the tokens that were computed, and the pages that hold their keys and values. One
// tree for all sequences of a cache, so that a beginning that several texts share is stored once and, while
// it is remembered, computed once. Knows numbers of pages only; it neither reads nor writes one.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "kv/page_pool.h"

namespace parlance {

// What is forgotten first when memory is short. Above them all is what a Pin protects.
enum class PrefixClass : uint8_t { background, short_lived, conversation };

// The longest known beginning of a text.
struct PrefixMatch {
  int64_t n_tokens = 0;
  // Of positions [0, n_tokens), held for the caller. Of the last one only the positions below n_tokens are
  // the caller's text, so who goes on from there copies it first.
  std::vector<PageRef> pages;
  int64_t n_pending = 0;  // further tokens that another one is computing now
};

enum class PrefixWait { ready, cancelled, timed_out };

struct PrefixTreeStats {
  uint64_t n_tokens_looked_up = 0;
  uint64_t n_tokens_matched = 0;
  uint64_t n_tokens_inserted = 0;  // that were not known before
  uint64_t n_pages_evicted = 0;    // that the tree gave up because memory was short
  PageCounts n_pages;              // now in the tree
  int64_t n_nodes = 0;
};

// A radix tree over token ids. The edge to a node spells some tokens and has the pages that their positions
// lie in. Where texts part inside a page, both branches and the edge above have a page for it: that of a
// branch holds all of its text's positions, and the edge above shares the page of the branch it was cut from.
//
// Pages are told apart by their kind. The tree keeps, of each kind, the first page that it is given for some
// tokens: an exact page and its compressed twin may come one after the other.
//
// Safe to use from several threads, under one lock. The tree outlives its claims and pins.
class PrefixTree {
  struct Node;

 public:
  // The promise to compute some tokens and insert them, page by page, kept or dropped at its end.
  class Claim {
   public:
    Claim() = default;
    Claim(Claim&& other) noexcept { *this = std::move(other); }
    Claim& operator=(Claim&& other) noexcept {
      std::swap(tree_, other.tree_);
      std::swap(id_, other.id_);
      return *this;
    }
    ~Claim() {
      if (tree_) tree_->drop_claim(id_);
    }

   private:
    friend class PrefixTree;
    PrefixTree* tree_ = nullptr;
    uint64_t id_ = 0;
  };

  // While it lives, its beginning of a text is not evicted.
  class Pin {
   public:
    Pin() = default;
    Pin(Pin&& other) noexcept { *this = std::move(other); }
    Pin& operator=(Pin&& other) noexcept {
      std::swap(tree_, other.tree_);
      std::swap(node_, other.node_);
      std::swap(n_tokens_, other.n_tokens_);
      return *this;
    }
    ~Pin() {
      if (node_) tree_->unpin(*node_);
    }
    int64_t n_tokens() const { return n_tokens_; }

   private:
    friend class PrefixTree;
    PrefixTree* tree_ = nullptr;
    Node* node_ = nullptr;
    int64_t n_tokens_ = 0;
  };

  // The pools outlive the tree, which gives back what it holds.
  PrefixTree(PagePools& pools, int32_t page_tokens);
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // The longest known beginning of `tokens`, which counts as used now. What `own` or younger claims promise
  // is not pending.
  PrefixMatch match(std::span<const int32_t> tokens, const Claim* own = nullptr);

  // Remembers that `pages`, held by the caller, hold the keys and values of `tokens`, all of them computed.
  // Where full pages of the same tokens were known, the caller's are released and theirs, held, put in their
  // place. Pages that are new to the tree are from now on shared with it, so none of them may be written,
  // the last one included.
  void insert(std::span<const int32_t> tokens, std::span<PageRef> pages, PrefixClass prefix_class);

  // Says that the caller is about to compute these tokens, as far as they are not known.
  [[nodiscard]] Claim announce(std::span<const int32_t> tokens);

  // Waits until no claim older than `own` (none given: no claim) promises more of `tokens` than is known.
  // Since a claim waits for older ones only, none waits for itself. For callers with a thread of their own:
  // who computes all sequences on one thread looks at n_pending and comes back later. `cancelled` is asked
  // every few milliseconds and must not use the tree.
  PrefixWait wait(std::span<const int32_t> tokens, const Claim* own, std::chrono::milliseconds timeout,
                  FunctionRef<bool()> cancelled);

  // Protects as much of the tokens as is known.
  [[nodiscard]] Pin pin(std::span<const int32_t> tokens);

  // Gives up pages until so many of each kind are free; false when nothing is left that would help. First go
  // exact pages that were compressed and ends of texts that a longer one repeats, then ends of texts, of the
  // lowest class and the least recently used first. Pages that a sequence holds stay: they would not become
  // free. Each call looks at all nodes, so ask for several pages at a time.
  bool evict(PageCounts n_free);

  // The most pages that the tree may hold, from now on; the default is no limit.
  void set_budget(PageCounts n_pages);

  PrefixTreeStats stats() const;

 private:
  struct Node {
    Node* parent = nullptr;
    int64_t begin = 0;  // position of the first token
    std::vector<int32_t> tokens;
    std::vector<PageRef> pages;                   // from that of position `begin` to that of the last token
    std::unordered_map<int32_t, Node*> children;  // by their first token
    PrefixClass prefix_class = PrefixClass::background;  // never below those of its children
    int n_pins = 0;
    std::list<Node>::iterator self;

    int64_t end() const { return begin + static_cast<int64_t>(tokens.size()); }
  };
  struct Place {
    Node* node;        // whose edge the known tokens end on
    int64_t n_tokens;  // known
  };
  struct Announced {
    uint64_t id;
    std::vector<int32_t> tokens;
  };
  // What pages are given up for: free ones in the pools, or fewer in the tree.
  struct Goal {
    enum { free_pages, budget } what;
    PageCounts n_pages;
  };

  Place find(std::span<const int32_t> tokens);
  int64_t pending(std::span<const int32_t> tokens, int64_t n_known, const Claim* own) const;
  Node& add_node(PrefixClass prefix_class, std::list<Node>::iterator before);
  Node* split(Node& node, int64_t position);
  Node* extend(Place place, std::span<const int32_t> tokens, std::span<const PageRef> pages,
               PrefixClass prefix_class);
  void share(Node& node, int64_t n_tokens, std::span<PageRef> pages);
  void mark_used(Node* node, PrefixClass prefix_class);

  int32_t missing(const Goal& goal, PageKind kind) const;
  bool reached(const Goal& goal) const;
  bool removable(const Goal& goal, PageKind kind, int32_t page);
  bool removable(const Goal& goal, PageRef ref);
  size_t first_gain(const Goal& goal, const Node& leaf);
  bool give_up_pages(const Goal& goal);
  void give_up_exact_copies(const Goal& goal);
  void give_up_partial_copies(const Goal& goal);
  void trim(Node& leaf, const Goal& goal, bool only_gains);
  bool remove_last_page(Node& leaf);

  int64_t page_of(int64_t position) const { return position / page_tokens_; }
  std::list<Node>& nodes_of(PrefixClass prefix_class) { return nodes_[static_cast<size_t>(prefix_class)]; }
  int32_t& references(PageKind kind, int32_t page) {
    return references_[static_cast<size_t>(kind)][static_cast<size_t>(page)];
  }
  void keep(PageRef& slot, PageKind kind, int32_t page);
  void give_back(PageRef& slot, PageKind kind);
  void drop_claim(uint64_t id);
  void unpin(Node& node);

  PagePools& pools_;
  const int32_t page_tokens_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // a claim was dropped or tokens were inserted
  Node root_;
  // All other nodes by class, the least recently used first; a node is never before its children.
  std::array<std::list<Node>, 3> nodes_;
  std::vector<Announced> claims_;                   // the oldest first
  std::array<std::vector<int32_t>, 2> references_;  // of nodes to each page, by kind
  uint64_t last_claim_ = 0;
  PageCounts budget_{INT32_MAX, INT32_MAX};
  PrefixTreeStats stats_;
};

}  // namespace parlance
