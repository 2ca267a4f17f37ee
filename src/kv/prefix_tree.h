// What a cache remembers: the tokens that were computed, the pages that hold their keys and values, and at
// some positions a copy of the states of recurrent layers. One tree for all sequences of a cache, so that a
// beginning that several texts share is stored once and, while it is remembered, computed once. Knows numbers
// of pages only; it neither reads nor writes one.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "kv/page_pool.h"
#include "kv/page_rules.h"
#include "kv/prefix_key.h"
#include "kv/sharing.h"

namespace parlance {

// The states of a model's recurrent layers behind some position, in host memory.
using StateCopy = std::shared_ptr<const std::vector<std::byte>>;

// A known beginning of a text.
struct PrefixMatch {
  int64_t n_tokens = 0;  // that need not be computed
  // Of positions [0, n_tokens), held for the caller. Of the last one only the positions below n_tokens are
  // the caller's text, so who goes on from there copies it first.
  std::vector<PageRef> pages;
  StateCopy states;  // behind them; null at 0, and where the tree needs none
  int64_t n_known =
      0;  // tokens that are known: n_tokens or more, since not every position can be gone on from
  int64_t n_pending = 0;  // tokens behind n_tokens that another one is computing now
};

enum class PrefixWait { ready, cancelled, timed_out };

struct PrefixTreeStats {
  uint64_t n_tokens_looked_up = 0;
  uint64_t n_tokens_matched = 0;
  uint64_t n_tokens_inserted = 0;                   // that were not known before
  uint64_t n_pages_evicted = 0;                     // that the tree gave up because memory was short
  std::array<uint64_t, 3> n_evicted_of_class = {};  // of these, by PrefixClass
  uint64_t n_states_evicted = 0;  // copies, for their own budget or with the pages below them
  PageCounts n_pages;             // now in the tree
  int64_t n_nodes = 0;
  int64_t n_states = 0;
  size_t state_bytes = 0;
};

struct PrefixTreeOptions {
  PageRules rules = {};       // which a match abides by
  bool needs_states = false;  // whether a text can be gone on from only where there is a copy of the states
};

// A radix tree over token ids. The edge to a node spells some tokens and has the pages that their positions
// lie in. Where texts part inside a page, both branches and the edge above have a page for it: that of a
// branch holds all of its text's positions, and the edge above shares the page of the branch it was cut from.
//
// Where states are needed, a text is matched up to its deepest copy of them. Copies cost bytes of their own
// budget and go with the tokens that they stand behind.
//
// Pages are told apart by their kind. The tree keeps, of each kind, the first page that it is given for some
// tokens: an exact page and its compressed twin may come one after the other.
//
// Texts of different spaces (PrefixKey) are branches of their own from the root on: they have pages in common
// with nobody, and none finds or waits for what another computes.
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
  PrefixTree(PagePools& pools, int32_t page_tokens, const PrefixTreeOptions& options = {});
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // The longest known beginning of a text that it can be gone on from, which counts as used now. What `own`
  // or younger claims promise is not pending.
  PrefixMatch match(const PrefixKey& text, const Claim* own = nullptr);

  // How many tokens of a text are known, without a use of them.
  int64_t count(const PrefixKey& text);

  // Remembers that `pages`, held by the caller, hold the keys and values of a text, all of it computed. Where
  // full pages of the same tokens were known, the caller's are released and theirs, held, put in their place.
  // Pages that are new to the tree are from now on shared with it, so none of them may be written, the last
  // one included.
  void insert(const PrefixKey& text, std::span<PageRef> pages, PrefixClass prefix_class);

  // Remembers the states behind a text. False when that is of no use: some of the text is not known (any
  // more), or the copy is larger than the budget. A copy that is there already stays.
  bool insert_states(const PrefixKey& text, StateCopy states);
  // Whether it is there already, so that no copy has to be made. Counts as a use.
  bool has_states(const PrefixKey& text);

  // Says that the caller is about to compute this text, as far as it is not known, and to insert copies of
  // the states at some positions, where such are needed.
  [[nodiscard]] Claim announce(const PrefixKey& text, std::span<const int64_t> state_positions = {});

  // Waits until no claim older than `own` (none given: no claim) promises more of the text than match() would
  // find. Since a claim waits for older ones only, none waits for itself. For callers with a thread of their
  // own: who computes all sequences on one thread looks at n_pending and comes back later. `cancelled` is
  // asked every few milliseconds and must not use the tree.
  PrefixWait wait(const PrefixKey& text, const Claim* own, std::chrono::milliseconds timeout,
                  FunctionRef<bool()> cancelled);

  // Protects as much of the text as is known, and the copy of states that it would be gone on from.
  [[nodiscard]] Pin pin(const PrefixKey& text);

  // Gives up pages until so many of each kind are free; false when nothing is left that would help. First go
  // exact pages that were compressed and ends of texts that a longer one repeats, then ends of texts, of the
  // lowest class and the least recently used first. Pages that a sequence holds stay: they would not become
  // free. Each call looks at all nodes, so ask for several pages at a time.
  bool evict(PageCounts n_free);

  // How many pages more evict() could surely make free now: what a forecast may count on beside the free
  // ones. Looks at all nodes. It may be fewer than there are where several texts end in one page.
  PageCounts n_evictable() const;

  // The most pages, and the most bytes of states, that the tree may hold from now on; the default is no
  // limit. States go by class, the least recently used first; what a pinned text would be gone on from stays.
  void set_budget(PageCounts n_pages);
  void set_state_budget(size_t n_bytes);

  PrefixTreeStats stats() const;

 private:
  // How a child is found: by its first token, with its whole hash where that is a content token, among those
  // of its space.
  struct Edge {
    int32_t token;
    ContentHash content;
    ContentHash space;
    bool operator==(const Edge&) const = default;
  };
  struct EdgeHash {
    size_t operator()(const Edge& edge) const {
      return static_cast<size_t>(edge.content.low ^ edge.space.low ^ static_cast<uint32_t>(edge.token));
    }
  };
  struct StateAt {
    int64_t position;  // they have seen the tokens before it; behind the edge's first token, up to its end
    StateCopy states;
    uint64_t last_use;
  };
  struct Node {
    Node* parent = nullptr;
    int64_t begin = 0;  // position of the first token
    std::vector<int32_t> tokens;
    std::vector<ContentHash> content;  // of the content tokens
    ContentHash space = {};
    std::vector<PageRef> pages;   // from that of position `begin` to that of the last token
    std::vector<StateAt> states;  // in order of position
    std::unordered_map<Edge, Node*, EdgeHash> children;
    PrefixClass prefix_class = PrefixClass::background;  // never below those of its children
    int n_pins = 0;
    mutable PageRef first_left = {};  // while n_evictable() counts: what the first page would become
    std::list<Node>::iterator self;

    int64_t end() const { return begin + static_cast<int64_t>(tokens.size()); }
    PrefixKey text() const { return {tokens, content, space}; }
  };
  struct Place {
    Node* node;        // whose edge the known tokens end on
    int64_t n_tokens;  // known
  };
  // Where a text can be gone on from.
  struct Usable {
    int64_t n_tokens;
    StateAt* state;  // null where none is needed
  };
  struct Announced {
    uint64_t id;
    std::vector<int32_t> tokens;
    std::vector<ContentHash> content;
    ContentHash space;
    std::vector<int64_t> state_positions;
  };
  // What pages are given up for: free ones in the pools, or fewer in the tree.
  struct Goal {
    enum { free_pages, budget } what;
    PageCounts n_pages;
  };

  class Forecast;

  static Edge edge_of(const PrefixKey& text);
  Place find(const PrefixKey& text);
  Usable usable(const Place& place, std::span<const PageRef> pages) const;
  std::vector<PageRef> pages_at(const Place& place) const;
  int64_t pending(const PrefixKey& text, int64_t n_usable, const Claim* own) const;
  Node& add_node(PrefixClass prefix_class, std::list<Node>::iterator before);
  Node* split(Node& node, int64_t position);
  Node* extend(Place place, const PrefixKey& text, std::span<const PageRef> pages, PrefixClass prefix_class);
  void share(Node& node, int64_t n_tokens, std::span<PageRef> pages);
  void mark_used(Node* node, PrefixClass prefix_class);
  static StateAt* state_at(const Place& place);
  static StateAt* last_state(Node* node, int64_t n_tokens);

  int32_t missing(const Goal& goal, PageKind kind) const;
  bool reached(const Goal& goal) const;
  bool removable(const Goal& goal, PageKind kind, int32_t page) const;
  bool removable(const Goal& goal, PageRef ref) const;
  size_t first_gain(const Goal& goal, const Node& leaf) const;
  bool give_up_pages(const Goal& goal);
  void give_up_exact_copies(const Goal& goal);
  void give_up_partial_copies(const Goal& goal);
  void trim(Node& leaf, const Goal& goal, bool only_gains);
  bool remove_last_page(Node& leaf);
  void give_up_states(size_t n_bytes);
  void drop_state(Node& node, size_t i);

  int64_t page_of(int64_t position) const { return position / page_tokens_; }
  std::list<Node>& nodes_of(PrefixClass prefix_class) { return nodes_[static_cast<size_t>(prefix_class)]; }
  int32_t& references(PageKind kind, int32_t page) {
    return references_[static_cast<size_t>(kind)][static_cast<size_t>(page)];
  }
  int32_t references(PageKind kind, int32_t page) const {
    return references_[static_cast<size_t>(kind)][static_cast<size_t>(page)];
  }
  void keep(PageRef& slot, PageKind kind, int32_t page);
  void give_back(PageRef& slot, PageKind kind);
  void count_evicted(const Node& node) {
    ++stats_.n_pages_evicted;
    ++stats_.n_evicted_of_class[static_cast<size_t>(node.prefix_class)];
  }
  void drop_claim(uint64_t id);
  void unpin(Node& node);

  PagePools& pools_;
  const int32_t page_tokens_;
  const PrefixTreeOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // a claim was dropped, or tokens or states were inserted
  Node root_;
  // All other nodes by class, the least recently used first; a node is never before its children.
  std::array<std::list<Node>, 3> nodes_;
  std::vector<Announced> claims_;                   // the oldest first
  std::array<std::vector<int32_t>, 2> references_;  // of nodes to each page, by kind
  uint64_t last_claim_ = 0;
  uint64_t n_uses_ = 0;  // of states
  PageCounts budget_{INT32_MAX, INT32_MAX};
  size_t state_budget_ = SIZE_MAX;
  PrefixTreeStats stats_;
};

}  // namespace parlance
