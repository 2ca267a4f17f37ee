// Random histories of several sequences and one prefix tree, played on pages with made-up contents: the value
// of a slot says which text it was written for. Whatever happens, a sequence reads its own text, a page with
// two holders is never written, and in the end every page is free.
#include "gtest/gtest.h"
// After GoogleTest, which it uses without including it.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <vector>

#include "kv/sequence_pages.h"

namespace parlance {
namespace {

constexpr int32_t kPageTokens = 4;
constexpr int32_t kVocabulary = 3;
constexpr size_t kSequences = 4;
constexpr size_t kMostTokens = 40;

struct Step {
  uint32_t action, sequence, a, b;
};

void showValue(const Step& step, std::ostream& os) {
  os << "{" << step.action << "," << step.sequence << "," << step.a << "," << step.b << "}";
}

rc::Gen<std::vector<Step>> histories() {
  // Actions that happen often have several numbers.
  const auto step =
      rc::gen::build<Step>(rc::gen::set(&Step::action, rc::gen::inRange<uint32_t>(0, 16)),
                           rc::gen::set(&Step::sequence, rc::gen::inRange<uint32_t>(0, kSequences)),
                           rc::gen::set(&Step::a, rc::gen::inRange<uint32_t>(0, 1000)),
                           rc::gen::set(&Step::b, rc::gen::inRange<uint32_t>(0, 1000)));
  return rc::gen::scale(4, rc::gen::container<std::vector<Step>>(step));
}

using Text = std::vector<int32_t>;
using Slots = std::array<Text, kPageTokens>;  // the text up to and with the position of each slot

class World {
 public:
  explicit World(PageCounts n_pages) : pools_(n_pages), tree_(pools_, kPageTokens) {
    contents_[0].resize(static_cast<size_t>(n_pages.main));
    contents_[1].resize(static_cast<size_t>(n_pages.exact));
    for (size_t i = 0; i < kSequences; ++i) sequences_.push_back({SequencePages(pools_, kPageTokens), {}});
  }

  void play(const Step& step) {
    Sequence& sequence = sequences_[step.sequence];
    switch (step.action) {
      case 0:
      case 1:
        return start(sequence, step.a, step.b);
      case 2:
      case 3:
      case 4:
        return write(sequence, 1 + step.a % 9, step.b);
      case 5:
        return truncate(sequence, step.a % (sequence.text.size() + 1));
      case 6:
        return fork(sequence, sequences_[step.a % kSequences]);
      case 7:
      case 8:
      case 9:
        return publish(sequence, step.a, step.b);
      case 10:
      case 11:
        return compress(sequence, step.a, step.b % 4 != 0);
      case 12:
        return evict({static_cast<int32_t>(step.a % 12), static_cast<int32_t>(step.b % 12)});
      case 13:
        return set_budget(step.a, step.b);
      case 14:
        return pin_or_unpin(sequence, step.a);
      case 15:
        return announce_or_drop(sequence, step.a, step.b);
    }
  }

  void check() {
    for (const Sequence& sequence : sequences_) check(sequence.pages.pages(), sequence.text);
    for (const auto& [text, pin] : pins_) {
      PrefixMatch match = tree_.match(text);
      RC_ASSERT(match.n_tokens >= pin.n_tokens());
      give_back(match);
    }
    const PageCounts in_tree = tree_.stats().n_pages;
    for (const PageKind kind : kPageKinds) {
      RC_ASSERT(in_tree[kind] >= 0);
      RC_ASSERT(in_tree[kind] <= pools_[kind].n_pages() - pools_[kind].n_free());
    }
  }

  // Nothing may be left when all have gone.
  void finish() {
    claims_.clear();
    pins_.clear();
    sequences_.clear();
    const PageCounts n_used = {pools_[PageKind::main].n_pages() - pools_.n_free().main,
                               pools_[PageKind::exact].n_pages() - pools_.n_free().exact};
    RC_ASSERT(tree_.stats().n_pages == n_used);
    RC_ASSERT(tree_.evict({pools_[PageKind::main].n_pages(), pools_[PageKind::exact].n_pages()}));
    RC_ASSERT(tree_.stats().n_nodes == 0);
    RC_ASSERT(tree_.stats().n_pages == PageCounts{});
  }

 private:
  struct Sequence {
    SequencePages pages;
    Text text;
  };

  static Text random_text(uint32_t seed, size_t n) {
    Text text;
    for (size_t i = 0; i < n; ++i) {
      seed = seed * 1664525 + 1013904223;
      text.push_back(static_cast<int32_t>((seed >> 16) % kVocabulary));
    }
    return text;
  }

  Slots& slots(PageKind kind, int32_t page) {
    return contents_[static_cast<size_t>(kind)][static_cast<size_t>(page)];
  }

  void check(std::span<const PageRef> pages, const Text& text) {
    RC_ASSERT(pages.size() == (text.size() + kPageTokens - 1) / kPageTokens);
    for (size_t i = 0; i < text.size(); ++i) {
      const PageRef page = pages[i / kPageTokens];
      RC_ASSERT(page.valid());
      for (const PageKind kind : kPageKinds) {
        if (page[kind] < 0) continue;
        RC_ASSERT(pools_[kind].holders(page[kind]) > 0);
        RC_ASSERT(std::ranges::equal(slots(kind, page[kind])[i % kPageTokens], std::span(text).first(i + 1)));
      }
    }
  }

  void give_back(PrefixMatch& match) {
    for (const PageRef page : match.pages) pools_.release(page);
  }

  void start(Sequence& sequence, uint32_t seed, uint32_t length) {
    Text text = random_text(seed % 8, length % kMostTokens);
    if (length % 3 == 0 && !known_.empty()) {  // on from something known
      text = *std::next(known_.begin(), static_cast<ptrdiff_t>(seed % known_.size()));
      text.push_back(static_cast<int32_t>(seed % kVocabulary));
    }
    sequence.pages.truncate(0);
    PrefixMatch match = tree_.match(text);
    text.resize(static_cast<size_t>(match.n_tokens));
    if (!evicted_) {
      // Exactly the longest text that was published.
      RC_ASSERT(text.empty() || known_.contains(text));
    }
    sequence.pages.adopt(std::move(match));
    sequence.text = text;
  }

  void write(Sequence& sequence, size_t n, uint32_t seed) {
    n = std::min(n, kMostTokens - std::min(kMostTokens, sequence.text.size()));
    const PageKind kind = kPageKinds[seed % 2];
    const auto first = sequence.text.size();
    const auto n_after = static_cast<int64_t>(first + n);
    SequencePages::Extension extension = sequence.pages.extend(n_after, kind);
    if (!extension.has_room) {
      const Text before = sequence.text;
      check(sequence.pages.pages(), before);
      evict(kind == PageKind::main ? PageCounts{11, 0} : PageCounts{0, 11});
      extension = sequence.pages.extend(n_after, kind);
      if (!extension.has_room) return;
    }
    if (const auto& copy = extension.copy) {
      RC_ASSERT(pools_[copy->to_kind].holders(copy->to) == 1);
      RC_ASSERT(pools_[copy->from_kind].holders(copy->from) > 0);
      RC_ASSERT(copy->n_tokens == static_cast<int32_t>(first % kPageTokens));
      Slots& to = slots(copy->to_kind, copy->to);
      to = {};
      std::copy_n(slots(copy->from_kind, copy->from).begin(), copy->n_tokens, to.begin());
    }
    const Text more = random_text(seed % 5, n);
    for (const int32_t token : more) {
      sequence.text.push_back(token);
      const size_t at = sequence.text.size() - 1;
      const PageRef page = sequence.pages.pages()[at / kPageTokens];
      RC_ASSERT(page[kind] >= 0);
      RC_ASSERT(pools_[kind].holders(page[kind]) == 1);
      slots(kind, page[kind])[at % kPageTokens] = sequence.text;
    }
  }

  void truncate(Sequence& sequence, size_t n) {
    sequence.pages.truncate(static_cast<int64_t>(n));
    sequence.text.resize(n);
  }

  void fork(const Sequence& from, Sequence& to) {
    if (&from == &to) return;
    to.pages = from.pages.fork();
    to.text = from.text;
  }

  void publish(Sequence& sequence, uint32_t a, uint32_t b) {
    size_t n = sequence.text.size();
    if (a % 3 == 0) n = n / kPageTokens * kPageTokens;
    if (a % 3 == 1) n = a % (n + 1);
    const std::span<const int32_t> tokens = std::span(sequence.text).first(n);
    const uint64_t evicted_before = tree_.stats().n_pages_evicted;
    sequence.pages.publish(tree_, tokens, static_cast<PrefixClass>(b % 3));
    for (size_t i = 1; i <= n; ++i)
      known_.emplace(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(i));
    if (tree_.stats().n_pages_evicted > evicted_before) evicted_ = true;
    if (evicted_) return;
    PrefixMatch match = tree_.match(tokens);
    RC_ASSERT(match.n_tokens == static_cast<int64_t>(n));
    check(match.pages, Text(tokens.begin(), tokens.end()));
    // Full pages are stored once.
    for (size_t i = 0; i < n / kPageTokens; ++i) {
      for (const PageKind kind : kPageKinds) {
        const int32_t page = sequence.pages.pages()[i][kind];
        RC_ASSERT(page < 0 || match.pages[i][kind] == page);
      }
    }
    give_back(match);
  }

  void compress(Sequence& sequence, uint32_t a, bool drop) {
    const size_t n_full = sequence.text.size() / kPageTokens;
    if (n_full == 0) return;
    const size_t i = a % n_full;
    const auto twin = sequence.pages.add_main(i);
    if (!twin) return;
    if (twin->is_new) {
      RC_ASSERT(pools_[PageKind::main].holders(twin->main) == 1);
      slots(PageKind::main, twin->main) = slots(PageKind::exact, sequence.pages.pages()[i].exact);
    }
    if (drop) sequence.pages.drop_exact(i);
  }

  void evict(PageCounts wanted) {
    if (tree_.evict(wanted)) {
      RC_ASSERT(pools_.n_free().main >= wanted.main);
      RC_ASSERT(pools_.n_free().exact >= wanted.exact);
    }
    evicted_ = true;
  }

  void set_budget(uint32_t a, uint32_t b) {
    if (!pins_.empty()) return;  // which may exceed it
    tree_.set_budget({static_cast<int32_t>(a % 20), static_cast<int32_t>(b % 20)});
    evicted_ = true;
    RC_ASSERT(tree_.stats().n_pages.main <= static_cast<int32_t>(a % 20));
    RC_ASSERT(tree_.stats().n_pages.exact <= static_cast<int32_t>(b % 20));
    tree_.set_budget({INT32_MAX, INT32_MAX});
  }

  void pin_or_unpin(const Sequence& sequence, uint32_t a) {
    if (a % 2 == 0 && !pins_.empty()) {
      pins_.erase(pins_.begin() + static_cast<ptrdiff_t>(a / 2 % pins_.size()));
    } else if (pins_.size() < 3) {
      pins_.emplace_back(sequence.text, tree_.pin(sequence.text));
    }
  }

  // What is pending for the sequence's text is what the older claims say.
  void announce_or_drop(const Sequence& sequence, uint32_t a, uint32_t b) {
    if (a % 2 == 0 && !claims_.empty()) {
      claims_.erase(claims_.begin() + static_cast<ptrdiff_t>(a / 2 % claims_.size()));
      return;
    }
    Text text = sequence.text;
    const Text more = random_text(b % 4, a % 12);
    text.insert(text.end(), more.begin(), more.end());
    claims_.emplace_back(text, tree_.announce(text));
    PrefixMatch match = tree_.match(text, &claims_.back().second);
    int64_t n_promised = match.n_tokens;
    for (size_t i = 0; i + 1 < claims_.size(); ++i) {
      const Text& other = claims_[i].first;
      int64_t n_common = 0;
      for (size_t k = 0; k < std::min(text.size(), other.size()) && text[k] == other[k]; ++k) n_common += 1;
      if (n_common < static_cast<int64_t>(other.size())) n_common = n_common / kPageTokens * kPageTokens;
      n_promised = std::max(n_promised, n_common);
    }
    RC_ASSERT(match.n_pending == n_promised - match.n_tokens);
    give_back(match);
  }

  PagePools pools_;
  PrefixTree tree_;
  std::array<std::vector<Slots>, 2> contents_;
  std::vector<Sequence> sequences_;
  std::set<Text> known_;  // all beginnings of what was published
  bool evicted_ = false;  // some of them may have been forgotten
  std::vector<std::pair<Text, PrefixTree::Pin>> pins_;
  std::vector<std::pair<Text, PrefixTree::Claim>> claims_;
};

void play(const std::vector<Step>& history, PageCounts n_pages, uint32_t n_actions) {
  World world(n_pages);
  for (Step step : history) {
    step.action %= n_actions;
    world.play(step);
    world.check();
  }
  world.finish();
}

RC_GTEST_PROP(PrefixTreeProperty, NothingIsLostWhileThereIsRoom, ()) {
  play(*histories(), {400, 400}, 12);
}

RC_GTEST_PROP(PrefixTreeProperty, NothingIsMixedUpWhenMemoryIsShort, ()) {
  play(*histories(), {24, 16}, 16);
}

}  // namespace
}  // namespace parlance
