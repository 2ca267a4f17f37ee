#include "kv/prefix_tree.h"

#include <algorithm>
#include <cassert>

#include "base/checked.h"

namespace parlance {

namespace {

constexpr std::chrono::milliseconds kPollInterval{5};  // of a waiter's `cancelled`

}  // namespace

PrefixTree::PrefixTree(PagePools& pools, int32_t page_tokens, const PrefixTreeOptions& options)
    : pools_(pools), page_tokens_(page_tokens), options_(options) {
  assert(page_tokens > 0);
  for (const PageKind kind : kPageKinds) {
    references_[static_cast<size_t>(kind)].resize(static_cast<size_t>(pools[kind].n_pages()));
  }
}

PrefixTree::~PrefixTree() {
  assert(claims_.empty() && "a claim outlives its tree");
  for (std::list<Node>& nodes : nodes_) {
    for (Node& node : nodes) {
      assert(node.n_pins == 0 && "a pin outlives its tree");
      for (const PageRef page : node.pages) pools_.release(page);
    }
  }
}

PrefixTree::Edge PrefixTree::edge_of(const PrefixKey& text) {
  const int32_t token = text.tokens.front();
  return {token, is_content_token(token) ? text.content.front() : ContentHash{}, text.space};
}

// The deepest place that a text leads to.
PrefixTree::Place PrefixTree::find(const PrefixKey& text) {
  Place place{&root_, 0};
  for (PrefixKey rest = text; place.n_tokens == place.node->end() && rest.n_tokens() > 0;) {
    const auto child = place.node->children.find(edge_of(rest));
    if (child == place.node->children.end()) break;
    place.node = child->second;
    const int64_t n_common = common_beginning(rest, place.node->text());
    place.n_tokens += n_common;
    rest = rest.from(n_common);
  }
  return place;
}

// The pages of the positions up to a place, not held.
std::vector<PageRef> PrefixTree::pages_at(const Place& place) const {
  std::vector<PageRef> pages(static_cast<size_t>(div_up<int64_t>(place.n_tokens, page_tokens_)));
  auto missing = static_cast<int64_t>(pages.size());
  for (const Node* node = place.node; node != &root_; node = node->parent) {
    const int64_t first = page_of(node->begin);
    for (; missing > first; --missing) {
      pages[static_cast<size_t>(missing - 1)] = node->pages[static_cast<size_t>(missing - 1 - first)];
    }
  }
  return pages;
}

// The last copy of states on the way to a node that stands at or before a position.
PrefixTree::StateAt* PrefixTree::last_state(Node* node, int64_t n_tokens) {
  for (; node; node = node->parent) {
    const auto behind = std::ranges::upper_bound(node->states, n_tokens, {}, &StateAt::position);
    if (behind != node->states.begin()) return &*std::prev(behind);
  }
  return nullptr;
}

PrefixTree::StateAt* PrefixTree::state_at(const Place& place) {
  const auto found = std::ranges::find(place.node->states, place.n_tokens, &StateAt::position);
  return found == place.node->states.end() ? nullptr : &*found;
}

PrefixTree::Usable PrefixTree::usable(const Place& place, std::span<const PageRef> pages) const {
  const auto allowed = [&](int64_t n_tokens) {
    return usable_tokens(pages, n_tokens, page_tokens_, options_.rules);
  };
  if (!options_.needs_states) return {allowed(place.n_tokens), nullptr};
  StateAt* state = last_state(place.node, place.n_tokens);
  while (state && allowed(state->position) < state->position) {
    state = last_state(place.node, state->position - 1);
  }
  return {state ? state->position : 0, state};
}

PrefixTree::Node& PrefixTree::add_node(PrefixClass prefix_class, std::list<Node>::iterator before) {
  const auto self = nodes_of(prefix_class).emplace(before);
  self->self = self;
  self->prefix_class = prefix_class;
  stats_.n_nodes += 1;
  return *self;
}

// Cuts a node's edge in two and yields the new node, in which the first part ends. The old one keeps its end
// with all that belongs there: children and pins.
PrefixTree::Node* PrefixTree::split(Node& node, int64_t position) {
  assert(position > node.begin && position < node.end());
  Node& upper = add_node(node.prefix_class, std::next(node.self));
  const auto n_tokens = position - node.begin;
  const auto n_pages = page_of(position - 1) - page_of(node.begin) + 1;
  upper.parent = node.parent;
  upper.begin = node.begin;
  upper.space = node.space;
  upper.tokens.assign(node.tokens.begin(), node.tokens.begin() + n_tokens);
  const auto n_content = count_content(upper.tokens);
  upper.content.assign(node.content.begin(), node.content.begin() + n_content);
  upper.pages.assign(node.pages.begin(), node.pages.begin() + n_pages);
  const auto states_behind = std::ranges::upper_bound(node.states, position, {}, &StateAt::position);
  upper.states.assign(node.states.begin(), states_behind);
  upper.parent->children[edge_of(upper.text())] = &upper;

  const bool inside_page = position % page_tokens_ != 0;
  node.tokens.erase(node.tokens.begin(), node.tokens.begin() + n_tokens);
  node.content.erase(node.content.begin(), node.content.begin() + n_content);
  node.states.erase(node.states.begin(), states_behind);
  node.pages.erase(node.pages.begin(), node.pages.begin() + n_pages - (inside_page ? 1 : 0));
  node.parent = &upper;
  node.begin = position;
  upper.children[edge_of(node.text())] = &node;
  if (inside_page) {
    PageRef& slot = node.pages.front();
    for (const PageKind kind : kPageKinds) {
      if (slot[kind] >= 0) keep(slot, kind, slot[kind]);  // once more: both parts hold it
    }
  }
  return &upper;
}

// Adds the tokens behind a place and yields the node in which they end.
PrefixTree::Node* PrefixTree::extend(Place place, const PrefixKey& text, std::span<const PageRef> pages,
                                     PrefixClass prefix_class) {
  if (place.n_tokens < place.node->end()) place.node = split(*place.node, place.n_tokens);
  Node* node = place.node;
  const PrefixKey rest = text.from(place.n_tokens);
  const auto first_page = static_cast<size_t>(page_of(place.n_tokens));
  const bool in_place =
      node != &root_ && node->children.empty() && node->n_pins == 0 && node->prefix_class == prefix_class;
  if (in_place) {
    const size_t kept = first_page - static_cast<size_t>(page_of(node->begin));
    while (node->pages.size() > kept) {  // at most one, whose positions the caller's page has too
      for (const PageKind kind : kPageKinds) give_back(node->pages.back(), kind);
      node->pages.pop_back();
    }
  } else {
    node = &add_node(prefix_class, nodes_of(prefix_class).end());
    node->parent = place.node;
    node->begin = place.n_tokens;
    node->space = text.space;
    place.node->children[edge_of(rest)] = node;
  }
  node->tokens.insert(node->tokens.end(), rest.tokens.begin(), rest.tokens.end());
  node->content.insert(node->content.end(), rest.content.begin(), rest.content.end());
  for (const PageRef page : pages.subspan(first_page)) {
    PageRef& slot = node->pages.emplace_back();
    for (const PageKind kind : kPageKinds) {
      if (page[kind] >= 0) keep(slot, kind, page[kind]);
    }
  }
  return node;
}

// Makes one of the caller's pages and the node's, as far as they hold the same: the caller gets the node's
// page if it is full; the node gets what kind it lacks if the caller's page holds all of its positions.
void PrefixTree::share(Node& node, int64_t n_tokens, std::span<PageRef> pages) {
  int64_t page = page_of(node.begin);
  for (PageRef& known : node.pages) {
    const int64_t page_end = (page + 1) * page_tokens_;
    if (page_end - page_tokens_ >= n_tokens) return;
    PageRef& callers = pages[static_cast<size_t>(page++)];
    const bool both_full = n_tokens >= page_end && node.end() >= page_end;
    const bool callers_holds_all = n_tokens >= std::min(node.end(), page_end);
    for (const PageKind kind : kPageKinds) {
      if (callers[kind] < 0 || callers[kind] == known[kind]) continue;
      if (known[kind] < 0) {
        if (callers_holds_all) keep(known, kind, callers[kind]);
      } else if (both_full) {
        pools_[kind].hold(known[kind]);
        pools_[kind].release(callers[kind]);
        callers[kind] = known[kind];
      }
    }
  }
}

// Makes the path to a node the most recently used, and of no lower class than given.
void PrefixTree::mark_used(Node* node, PrefixClass prefix_class) {
  for (; node != &root_; node = node->parent) {
    std::list<Node>& from = nodes_of(node->prefix_class);
    node->prefix_class = std::max(node->prefix_class, prefix_class);
    std::list<Node>& to = nodes_of(node->prefix_class);
    to.splice(to.end(), from, node->self);
  }
}

PrefixMatch PrefixTree::match(const PrefixKey& text, const Claim* own) {
  const std::lock_guard lock(mutex_);
  const Place place = find(text);
  PrefixMatch match;
  match.pages = pages_at(place);
  const Usable usable = this->usable(place, match.pages);
  match.n_tokens = usable.n_tokens;
  match.n_known = place.n_tokens;
  match.n_pending = pending(text, options_.needs_states ? usable.n_tokens : place.n_tokens, own);
  match.pages.resize(static_cast<size_t>(div_up<int64_t>(match.n_tokens, page_tokens_)));
  for (const PageRef page : match.pages) pools_.hold(page);
  if (usable.state) {
    usable.state->last_use = ++n_uses_;
    match.states = usable.state->states;
  }
  mark_used(place.node, PrefixClass::background);
  stats_.n_tokens_looked_up += static_cast<uint64_t>(text.n_tokens());
  stats_.n_tokens_matched += static_cast<uint64_t>(match.n_tokens);
  return match;
}

int64_t PrefixTree::count(const PrefixKey& text) {
  const std::lock_guard lock(mutex_);
  return find(text).n_tokens;
}

void PrefixTree::insert(const PrefixKey& text, std::span<PageRef> pages, PrefixClass prefix_class) {
  const int64_t n_tokens = text.n_tokens();
  assert(std::ssize(pages) == div_up<int64_t>(n_tokens, page_tokens_));
  assert(std::ranges::all_of(pages, &PageRef::valid));
  if (n_tokens == 0) return;
  {
    const std::lock_guard lock(mutex_);
    const Place place = find(text);
    Node* last = place.node;
    if (place.n_tokens < n_tokens) {
      last = extend(place, text, pages, prefix_class);
    } else if (n_tokens < last->end() && last->prefix_class < prefix_class) {
      last = split(*last, n_tokens);  // what follows stays in its class
    }
    // From the end: where two nodes of the path have a page for the same positions, the last one's is full.
    for (Node* node = last; node != &root_; node = node->parent) share(*node, n_tokens, pages);
    mark_used(last, prefix_class);
    stats_.n_tokens_inserted += static_cast<uint64_t>(n_tokens - place.n_tokens);
    give_up_pages({Goal::budget, budget_});
  }
  changed_.notify_all();
}

bool PrefixTree::insert_states(const PrefixKey& text, StateCopy states) {
  assert(options_.needs_states && states && text.n_tokens() > 0);
  bool is_kept = false;
  {
    const std::lock_guard lock(mutex_);
    const Place place = find(text);
    if (place.n_tokens < text.n_tokens()) return false;
    if (StateAt* const known = state_at(place)) {
      known->last_use = ++n_uses_;
      return true;
    }
    if (states->size() > state_budget_) return false;
    stats_.n_states += 1;
    stats_.state_bytes += states->size();
    std::vector<StateAt>& on_edge = place.node->states;
    const auto behind = std::ranges::upper_bound(on_edge, place.n_tokens, {}, &StateAt::position);
    on_edge.insert(behind, {place.n_tokens, std::move(states), ++n_uses_});
    give_up_states(state_budget_);
    is_kept = state_at(place) != nullptr;
  }
  changed_.notify_all();
  return is_kept;
}

bool PrefixTree::has_states(const PrefixKey& text) {
  const std::lock_guard lock(mutex_);
  const Place place = find(text);
  StateAt* const known = place.n_tokens == text.n_tokens() ? state_at(place) : nullptr;
  if (known) known->last_use = ++n_uses_;
  return known != nullptr;
}

PrefixTree::Claim PrefixTree::announce(const PrefixKey& text, std::span<const int64_t> state_positions) {
  const std::lock_guard lock(mutex_);
  claims_.push_back({++last_claim_,
                     {text.tokens.begin(), text.tokens.end()},
                     {text.content.begin(), text.content.end()},
                     text.space,
                     {state_positions.begin(), state_positions.end()}});
  Claim claim;
  claim.tree_ = this;
  claim.id_ = last_claim_;
  return claim;
}

void PrefixTree::drop_claim(uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(claims_, [id](const Announced& claim) { return claim.id == id; });
  }
  changed_.notify_all();
}

// How many tokens beyond those usable an older claim promises. Pages are published when they are full, or
// when all of the claim's tokens are computed; where states are needed, only what stands before one counts.
int64_t PrefixTree::pending(const PrefixKey& text, int64_t n_usable, const Claim* own) const {
  int64_t n_promised = n_usable;
  for (const Announced& claim : claims_) {
    if (own && claim.id >= own->id_) break;
    int64_t n_common = common_beginning(text, {claim.tokens, claim.content, claim.space});
    if (options_.needs_states) {
      for (const int64_t position : claim.state_positions) {
        if (position <= n_common) n_promised = std::max(n_promised, position);
      }
      continue;
    }
    if (n_common < std::ssize(claim.tokens)) n_common -= n_common % page_tokens_;
    n_promised = std::max(n_promised, n_common);
  }
  return n_promised - n_usable;
}

PrefixWait PrefixTree::wait(const PrefixKey& text, const Claim* own, std::chrono::milliseconds timeout,
                            FunctionRef<bool()> cancelled) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const auto n_usable = [&] {
    const Place place = find(text);
    return options_.needs_states ? usable(place, pages_at(place)).n_tokens : place.n_tokens;
  };
  std::unique_lock lock(mutex_);
  while (pending(text, n_usable(), own) > 0) {
    if (cancelled()) return PrefixWait::cancelled;
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) return PrefixWait::timed_out;
    changed_.wait_until(lock, std::min(deadline, now + kPollInterval));
  }
  return PrefixWait::ready;
}

PrefixTree::Pin PrefixTree::pin(const PrefixKey& text) {
  const std::lock_guard lock(mutex_);
  Place place = find(text);
  Pin pin;
  if (place.n_tokens == 0) return pin;
  if (place.n_tokens < place.node->end()) place.node = split(*place.node, place.n_tokens);
  place.node->n_pins += 1;
  pin.tree_ = this;
  pin.node_ = place.node;
  pin.n_tokens_ = place.n_tokens;
  return pin;
}

void PrefixTree::unpin(Node& node) {
  const std::lock_guard lock(mutex_);
  node.n_pins -= 1;
  give_up_pages({Goal::budget, budget_});
  give_up_states(state_budget_);
}

PrefixTreeStats PrefixTree::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void PrefixTree::keep(PageRef& slot, PageKind kind, int32_t page) {
  pools_[kind].hold(page);
  slot[kind] = page;
  if (references(kind, page)++ == 0) stats_.n_pages[kind] += 1;
}

void PrefixTree::give_back(PageRef& slot, PageKind kind) {
  if (slot[kind] < 0) return;
  if (--references(kind, slot[kind]) == 0) stats_.n_pages[kind] -= 1;
  pools_[kind].release(slot[kind]);
  slot[kind] = -1;
}

}  // namespace parlance
