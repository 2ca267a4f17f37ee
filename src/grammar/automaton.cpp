#include "grammar/automaton.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace parlance {

namespace {

constexpr int64_t kSortWork = 4;  // units, of one element

// Indices of items in the order of their states, and where each state's begin.
template <class Item>
void index_by_state(const std::vector<Item>& items, size_t n_states, std::vector<uint32_t>& begins,
                    std::vector<uint32_t>& order) {
  begins.assign(n_states + 1, 0);
  for (const Item& item : items) ++begins[item.from + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  order.resize(items.size());
  std::vector<uint32_t> next(begins.begin(), begins.end() - 1);
  for (uint32_t i = 0; i < items.size(); ++i) order[next[items[i].from]++] = i;
}

uint64_t hash_of(std::span<const AutomatonState> set) {
  uint64_t hash = 0x9E3779B97F4A7C15u;
  for (const AutomatonState state : set) hash = (hash ^ state) * 0xFF51AFD7ED558CCDu + (hash >> 29);
  return hash;
}

// Sets of states, numbered in the order in which they came.
class SetNumbers {
 public:
  // The number, and whether the set is new.
  std::pair<AutomatonState, bool> of(std::span<const AutomatonState> set) {
    const uint64_t hash = hash_of(set);
    const auto [begin, end] = numbers_.equal_range(hash);
    for (auto i = begin; i != end; ++i) {
      if (std::ranges::equal((*this)[i->second], set)) return {i->second, false};
    }
    const auto number = static_cast<AutomatonState>(ends_.size() - 1);
    states_.insert(states_.end(), set.begin(), set.end());
    ends_.push_back(states_.size());
    numbers_.emplace(hash, number);
    return {number, true};
  }
  std::span<const AutomatonState> operator[](AutomatonState number) const {
    return std::span(states_).subspan(ends_[number], ends_[number + 1] - ends_[number]);
  }
  AutomatonState size() const { return static_cast<AutomatonState>(ends_.size() - 1); }

 private:
  std::vector<AutomatonState> states_;
  std::vector<size_t> ends_ = {0};
  std::unordered_multimap<uint64_t, AutomatonState> numbers_;
};

// Edges in ascending order; neighbours with the same target become one.
void add_edge(Dfa& dfa, Dfa::Edge edge) {
  if (dfa.edges.size() > dfa.begins.back()) {
    Dfa::Edge& last = dfa.edges.back();
    if (last.to == edge.to && last.last + 1 == edge.first) {
      last.last = edge.last;
      return;
    }
  }
  dfa.edges.push_back(edge);
}

}  // namespace

Determiniser::Determiniser(const Nfa& nfa, CompileBudget& budget) : nfa_(nfa), budget_(budget) {
  index_by_state(nfa.edges, nfa.n_states, edge_begins_, edge_order_);
  index_by_state(nfa.jumps, nfa.n_states, jump_begins_, jump_order_);
  seen_.assign(nfa.n_states, 0);
}

// Adds what jumps reach, and leaves out what has neither edges nor is the end.
void Determiniser::close(std::vector<AutomatonState>& set) {
  ++n_closed_;
  std::vector<AutomatonState> kept;
  for (const AutomatonState state : set) seen_[state] = n_closed_;
  while (!set.empty()) {
    const AutomatonState state = set.back();
    set.pop_back();
    if (state == end_ || edge_begins_[state] < edge_begins_[state + 1]) kept.push_back(state);
    for (uint32_t i = jump_begins_[state]; i < jump_begins_[state + 1]; ++i) {
      const AutomatonState to = nfa_.jumps[jump_order_[i]].to;
      if (seen_[to] == n_closed_) continue;
      seen_[to] = n_closed_;
      set.push_back(to);
    }
    budget_.spend(1 + jump_begins_[state + 1] - jump_begins_[state]);
  }
  std::ranges::sort(kept);
  set.swap(kept);
}

std::vector<Determiniser::Step> Determiniser::steps_of(std::span<const AutomatonState> set) const {
  std::vector<Step> steps;
  for (const AutomatonState state : set) {
    for (uint32_t i = edge_begins_[state]; i < edge_begins_[state + 1]; ++i) {
      const Nfa::Edge& edge = nfa_.edges[edge_order_[i]];
      steps.push_back({edge.first, edge.last, edge.to});
    }
  }
  return steps;
}

std::optional<Dfa> Determiniser::make(AutomatonState start, AutomatonState end) {
  end_ = end;
  SetNumbers sets;
  std::vector<AutomatonState> targets = {start};
  close(targets);
  sets.of(targets);
  Dfa dfa;
  std::vector<Symbol> bounds;
  for (AutomatonState number = 0; number < sets.size(); ++number) {
    std::vector<Step> steps = steps_of(sets[number]);
    const bool is_accepting = std::ranges::binary_search(sets[number], end);
    // Sets that overlap much are put in order again and again, which is what takes long.
    if (!budget_.spend(kSortWork * std::ssize(steps))) return std::nullopt;
    std::ranges::sort(steps, {}, &Step::first);
    bounds.clear();
    for (const Step& step : steps) {
      bounds.push_back(step.first);
      bounds.push_back(step.last + 1);
    }
    std::ranges::sort(bounds);
    bounds.erase(std::ranges::unique(bounds).begin(), bounds.end());
    size_t n_begun = 0;
    std::vector<Step> open;  // whose range the interval lies in
    for (size_t i = 0; i + 1 < bounds.size(); ++i) {
      while (n_begun < steps.size() && steps[n_begun].first == bounds[i]) open.push_back(steps[n_begun++]);
      std::erase_if(open, [&](const Step& step) { return step.last < bounds[i]; });
      if (open.empty()) continue;
      targets.clear();
      for (const Step& step : open) targets.push_back(step.to);
      std::ranges::sort(targets);
      targets.erase(std::ranges::unique(targets).begin(), targets.end());
      close(targets);
      const auto [to, is_new] = sets.of(targets);
      budget_.states -= is_new;
      // What is kept (an edge, a new set) counts for more than what is looked at: it bounds memory too.
      const int64_t work = 16 + kSortWork * std::ssize(open) + (is_new ? 4 : 1) * std::ssize(targets);
      if (!budget_.spend(work) || budget_.is_spent()) return std::nullopt;
      add_edge(dfa, {bounds[i], bounds[i + 1] - 1, to});
    }
    dfa.close_state(is_accepting);
  }
  return dfa;
}

std::optional<Dfa> intersection(const Dfa& a, const Dfa& b, CompileBudget& budget) {
  std::map<std::pair<AutomatonState, AutomatonState>, AutomatonState> numbers = {{{0, 0}, 0}};
  std::vector<std::pair<AutomatonState, AutomatonState>> pairs = {{0, 0}};
  Dfa both;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto [in_a, in_b] = pairs[i];
    const auto of_a = a.of(in_a), of_b = b.of(in_b);
    for (size_t at_a = 0, at_b = 0; at_a < of_a.size() && at_b < of_b.size();) {
      const Symbol first = std::max(of_a[at_a].first, of_b[at_b].first);
      const Symbol last = std::min(of_a[at_a].last, of_b[at_b].last);
      if (first <= last) {
        const std::pair to{of_a[at_a].to, of_b[at_b].to};
        const auto [found, is_new] = numbers.emplace(to, static_cast<AutomatonState>(pairs.size()));
        if (is_new) pairs.push_back(to);
        budget.states -= is_new;
        add_edge(both, {first, last, found->second});
      }
      if (!budget.spend(20) || budget.is_spent()) return std::nullopt;
      of_a[at_a].last < of_b[at_b].last ? ++at_a : ++at_b;
    }
    both.close_state(a.accepts[in_a] && b.accepts[in_b]);
  }
  return both;
}

namespace {

// Sets of the numbers below n that are split, again and again, into what was marked and what was not.
class Partition {
 public:
  // One set for each value of `set_of`, which are 0 to n_sets - 1.
  Partition(std::vector<uint32_t> set_of, uint32_t n_sets) : set_of_(std::move(set_of)), sets_(n_sets) {
    for (const uint32_t set : set_of_) ++sets_[set].end;
    uint32_t begin = 0;
    for (Set& set : sets_) {
      const uint32_t n = set.end;
      set.begin = set.end = begin;
      begin += n;
    }
    elements_.resize(set_of_.size());
    places_.resize(set_of_.size());
    for (uint32_t i = 0; i < set_of_.size(); ++i) {
      places_[i] = sets_[set_of_[i]].end++;
      elements_[places_[i]] = i;
    }
  }

  uint32_t n_sets() const { return static_cast<uint32_t>(sets_.size()); }
  uint32_t set_of(uint32_t element) const { return set_of_[element]; }
  std::span<const uint32_t> of(uint32_t set) const {
    return std::span(elements_).subspan(sets_[set].begin, sets_[set].end - sets_[set].begin);
  }

  void mark(uint32_t element) {
    Set& set = sets_[set_of_[element]];
    const uint32_t place = places_[element], to = set.begin + set.n_marked;
    if (place < to) return;  // it is
    if (set.n_marked++ == 0) touched_.push_back(set_of_[element]);
    std::swap(elements_[place], elements_[to]);
    places_[elements_[place]] = place;
    places_[element] = to;
  }

  // The smaller part of each set that has marked ones becomes a new set.
  void split() {
    for (const uint32_t number : touched_) {
      Set& set = sets_[number];
      const uint32_t middle = set.begin + std::exchange(set.n_marked, 0);
      if (middle == set.end) continue;
      Set part;
      if (middle - set.begin <= set.end - middle) {
        part = {set.begin, middle, 0};
        set.begin = middle;
      } else {
        part = {middle, set.end, 0};
        set.end = middle;
      }
      const uint32_t new_number = n_sets();
      for (uint32_t i = part.begin; i < part.end; ++i) set_of_[elements_[i]] = new_number;
      sets_.push_back(part);
    }
    touched_.clear();
  }

 private:
  struct Set {
    uint32_t begin = 0, end = 0;  // of elements_
    uint32_t n_marked = 0;        // at its beginning
  };
  std::vector<uint32_t> set_of_;
  std::vector<Set> sets_;
  std::vector<uint32_t> elements_, places_;  // in the order of their sets; where each is
  std::vector<uint32_t> touched_;
};

// Of one automaton, for each class of symbols apart: what bounds the memory that minimising takes.
constexpr size_t kMostTransitions = 600'000;

struct Transition {
  AutomatonState from, to;
  uint32_t label;
};

// States that are reached from the start and reach an end, with new numbers; -1 for the others.
std::vector<int64_t> useful_states(const Dfa& dfa) {
  std::vector<std::vector<AutomatonState>> sources(dfa.n_states());
  for (AutomatonState state = 0; state < dfa.n_states(); ++state) {
    for (const Dfa::Edge& edge : dfa.of(state)) sources[edge.to].push_back(state);
  }
  std::vector<char> ends(dfa.accepts), begins(dfa.n_states(), 0);
  std::vector<AutomatonState> todo;
  for (AutomatonState state = 0; state < dfa.n_states(); ++state) {
    if (ends[state]) todo.push_back(state);
  }
  while (!todo.empty()) {
    const AutomatonState state = todo.back();
    todo.pop_back();
    for (const AutomatonState source : sources[state]) {
      if (!std::exchange(ends[source], 1)) todo.push_back(source);
    }
  }
  std::vector<int64_t> numbers(dfa.n_states(), -1);
  if (!ends[0]) return numbers;
  int64_t n = 0;
  begins[0] = 1;
  todo = {0};
  while (!todo.empty()) {
    const AutomatonState state = todo.back();
    todo.pop_back();
    numbers[state] = n++;
    for (const Dfa::Edge& edge : dfa.of(state)) {
      if (ends[edge.to] && !std::exchange(begins[edge.to], 1)) todo.push_back(edge.to);
    }
  }
  return numbers;
}

// The symbols at which some edge begins, or the first behind one.
std::vector<Symbol> bounds_of(const Dfa& dfa) {
  std::vector<Symbol> bounds;
  for (const Dfa::Edge& edge : dfa.edges) {
    bounds.push_back(edge.first);
    bounds.push_back(edge.last + 1);
  }
  std::ranges::sort(bounds);
  bounds.erase(std::ranges::unique(bounds).begin(), bounds.end());
  return bounds;
}

}  // namespace

// A. Valmari, "Fast brief practical DFA minimization", 2012: states are split by transitions, and transitions
// by states, until nothing changes.
std::optional<Dfa> minimised(const Dfa& dfa, CompileBudget& budget) {
  const std::vector<int64_t> numbers = useful_states(dfa);
  Dfa small;
  if (numbers[0] < 0) {
    small.close_state(false);
    return small;
  }
  const std::vector<Symbol> bounds = bounds_of(dfa);
  const auto n_useful = static_cast<uint32_t>(std::ranges::max(numbers)) + 1;
  std::vector<uint32_t> is_end(n_useful);
  std::vector<Transition> transitions;
  for (AutomatonState state = 0; state < dfa.n_states(); ++state) {
    if (numbers[state] < 0) continue;
    is_end[static_cast<size_t>(numbers[state])] = dfa.accepts[state] != 0;
    for (const Dfa::Edge& edge : dfa.of(state)) {
      if (numbers[edge.to] < 0) continue;
      for (auto label = static_cast<size_t>(std::ranges::lower_bound(bounds, edge.first) - bounds.begin());
           bounds[label] <= edge.last; ++label) {
        transitions.push_back({static_cast<AutomatonState>(numbers[state]),
                               static_cast<AutomatonState>(numbers[edge.to]), static_cast<uint32_t>(label)});
      }
      if (transitions.size() > kMostTransitions) return std::nullopt;
    }
  }
  if (!budget.spend(4 * std::ssize(transitions))) return std::nullopt;
  const bool has_both = std::ranges::count(is_end, 0u) > 0;
  if (!has_both) std::ranges::fill(is_end, 0u);
  Partition blocks(is_end, has_both ? 2 : 1);

  std::vector<uint32_t> incoming(n_useful + 1), by_target(transitions.size()), labels;
  for (const Transition& t : transitions) ++incoming[t.to + 1];
  std::partial_sum(incoming.begin(), incoming.end(), incoming.begin());
  std::vector<uint32_t> next(incoming.begin(), incoming.end() - 1);
  for (uint32_t i = 0; i < transitions.size(); ++i) {
    by_target[next[transitions[i].to]++] = i;
    labels.push_back(transitions[i].label);
  }
  Partition cords(labels, static_cast<uint32_t>(bounds.size()));
  for (uint32_t cord = 0, block = 1; cord < cords.n_sets(); ++cord) {
    for (const uint32_t t : cords.of(cord)) blocks.mark(transitions[t].from);
    blocks.split();
    for (; block < blocks.n_sets(); ++block) {
      for (const uint32_t state : blocks.of(block)) {
        for (uint32_t i = incoming[state]; i < incoming[state + 1]; ++i) cords.mark(by_target[i]);
      }
      cords.split();
    }
  }

  // One state for each block, the start's first; a block's edges are those of any state in it.
  std::vector<AutomatonState> old_of(n_useful);
  for (AutomatonState state = 0; state < dfa.n_states(); ++state) {
    if (numbers[state] >= 0) old_of[static_cast<size_t>(numbers[state])] = state;
  }
  const auto block_of = [&](AutomatonState old) {
    return blocks.set_of(static_cast<uint32_t>(numbers[old]));
  };
  std::vector<uint32_t> new_of(blocks.n_sets());
  std::iota(new_of.begin(), new_of.end(), 0);
  std::swap(new_of[0], new_of[block_of(0)]);
  std::vector<uint32_t> order(blocks.n_sets());
  for (uint32_t block = 0; block < blocks.n_sets(); ++block) order[new_of[block]] = block;
  for (const uint32_t block : order) {
    const AutomatonState old = old_of[blocks.of(block)[0]];
    for (const Dfa::Edge& edge : dfa.of(old)) {
      if (numbers[edge.to] >= 0) add_edge(small, {edge.first, edge.last, new_of[block_of(edge.to)]});
    }
    small.close_state(dfa.accepts[old] != 0);
  }
  return small;
}

}  // namespace parlance
