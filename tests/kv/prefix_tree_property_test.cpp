// Random histories of several sequences and one prefix tree, played on pages with made-up contents: the value
// of a slot says which text it was written for, and so do the bytes of a copy of states. Whatever happens, a
// sequence reads its own text and goes on from its own states, a page with two holders is never written, and
// in the end every page is free.
//
// Texts are of tokens and of rows with hashes; two of the contents have the same token, as by accident.
#include "gtest/gtest.h"
// After GoogleTest, which it uses without including it.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "kv/sequence_pages.h"

namespace parlance {
namespace {

constexpr int32_t kTwinPageTokens = 4;
constexpr int32_t kVocabulary = 4;
constexpr size_t kSequences = 4;
constexpr size_t kMostTokens = 40;

struct Step {
  uint32_t action, sequence, a, b;
};

void showValue(const Step& step, std::ostream& os) {
  os << "{" << step.action << "," << step.sequence << "," << step.a << "," << step.b << "}";
}

}  // namespace

// Beside its type, where RapidCheck looks for it.
void showValue(const PrefixTreeOptions& options, std::ostream& os) {
  os << "{" << static_cast<int>(options.rules.written) << "," << options.rules.n_exact_first << ","
     << options.needs_states << "}";
}

namespace {

rc::Gen<std::vector<Step>> histories() {
  // Actions that happen often have several numbers.
  const auto step =
      rc::gen::build<Step>(rc::gen::set(&Step::action, rc::gen::inRange<uint32_t>(0, 19)),
                           rc::gen::set(&Step::sequence, rc::gen::inRange<uint32_t>(0, kSequences)),
                           rc::gen::set(&Step::a, rc::gen::inRange<uint32_t>(0, 1000)),
                           rc::gen::set(&Step::b, rc::gen::inRange<uint32_t>(0, 1000)));
  return rc::gen::scale(4, rc::gen::container<std::vector<Step>>(step));
}

using Text = std::vector<int32_t>;  // of symbols, which a Key spells
// Symbols 0 and 1 are tokens; 2 and 3 rows whose hashes agree in what the token is made of.
struct Key {
  explicit Key(std::span<const int32_t> text) {
    for (const int32_t symbol : text) {
      if (symbol < 2) {
        tokens.push_back(symbol);
        continue;
      }
      content.push_back({static_cast<uint64_t>(symbol), 77});
      tokens.push_back(content_token(content.back()));
    }
  }
  operator PrefixKey() const { return {tokens, content}; }  // NOLINT: implicit, as a view of it

  std::vector<int32_t> tokens;
  std::vector<ContentHash> content;
};
using Slots = std::array<Text, kTwinPageTokens>;  // the text up to and with the position of each slot

class World {
 public:
  World(PageCounts n_pages, const PrefixTreeOptions& options)
      : pools_(n_pages), options_(options), tree_(pools_, kTwinPageTokens, options) {
    contents_[0].resize(static_cast<size_t>(n_pages.main));
    contents_[1].resize(static_cast<size_t>(n_pages.exact));
    for (size_t i = 0; i < kSequences; ++i) sequences_.push_back({SequencePages(pools_, kTwinPageTokens), {}});
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
      case 16:
      case 17:
        return insert_states(sequence, step.a);
      case 18:
        return set_state_budget(step.a);
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
      PrefixMatch match = tree_.match(Key(text));
      RC_ASSERT(match.n_known >= pin.n_tokens());
      give_back(match);
    }
    check_states();
    check_evictable();
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
    RC_ASSERT(tree_.stats().n_states == 0);
    RC_ASSERT(tree_.stats().state_bytes == 0u);
    RC_ASSERT(tree_.n_evictable() == PageCounts{});
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
    RC_ASSERT(pages.size() == (text.size() + kTwinPageTokens - 1) / kTwinPageTokens);
    for (size_t i = 0; i < text.size(); ++i) {
      const PageRef page = pages[i / kTwinPageTokens];
      RC_ASSERT(page.valid());
      for (const PageKind kind : kPageKinds) {
        if (page[kind] < 0) continue;
        RC_ASSERT(pools_[kind].holders(page[kind]) > 0);
        RC_ASSERT(std::ranges::equal(slots(kind, page[kind])[i % kTwinPageTokens], std::span(text).first(i + 1)));
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
    PrefixMatch match = tree_.match(Key(text));
    check(match, text);
    text.resize(static_cast<size_t>(match.n_tokens));
    sequence.pages.adopt(std::move(match));
    sequence.text = text;
    RC_ASSERT(sequence.pages.usable(std::ssize(text), options_.rules) == std::ssize(text));
  }

  // What the naive twin, a list of all that was published, knows of a text.
  void check(const PrefixMatch& match, const Text& text) {
    RC_ASSERT(match.n_tokens <= match.n_known);
    RC_ASSERT(match.n_known <= std::ssize(text));
    const auto known = std::span(text).first(static_cast<size_t>(match.n_known));
    RC_ASSERT(known.empty() || known_.contains(Text(known.begin(), known.end())));
    if (!evicted_ && match.n_known < std::ssize(text)) {
      RC_ASSERT(!known_.contains(Text(text.begin(), text.begin() + match.n_known + 1)));
    }
    check(match.pages, Text(text.begin(), text.begin() + match.n_tokens));
    RC_ASSERT(usable_tokens(match.pages, match.n_tokens, kTwinPageTokens, options_.rules) == match.n_tokens);
    if (!options_.needs_states) {
      RC_ASSERT(!match.states);
      RC_ASSERT(match.n_tokens > match.n_known - kTwinPageTokens || options_.rules.n_exact_first > 0);
      return;
    }
    RC_ASSERT((match.states != nullptr) == (match.n_tokens > 0));
    if (match.states)
      RC_ASSERT(*match.states == states_of(Text(text.begin(), text.begin() + match.n_tokens)));
    // The deepest copy that can be gone on from, of those that the list has.
    PrefixMatch whole = tree_.match(Key(text));
    const int64_t n_deepest = deepest_states(text, match.n_known);
    if (!evicted_ && !states_evicted_ && options_.rules.n_exact_first == 0) {
      const int64_t cut = n_deepest - n_deepest % kTwinPageTokens;
      RC_ASSERT(match.n_tokens <= n_deepest);
      if (all_written_) RC_ASSERT(match.n_tokens == n_deepest);
      RC_ASSERT(match.n_tokens >= deepest_states(text, cut - cut % kTwinPageTokens, kTwinPageTokens));
    }
    give_back(whole);
  }

  // The longest beginning, up to n tokens, whose states were inserted; at multiples only.
  int64_t deepest_states(const Text& text, int64_t n, int64_t multiple = 1) const {
    for (; n > 0; --n) {
      if (n % multiple == 0 && with_states_.contains(Text(text.begin(), text.begin() + n))) return n;
    }
    return 0;
  }

  static std::vector<std::byte> states_of(const Text& text) {
    std::vector<std::byte> bytes(10 + text.size() % 3);
    for (size_t i = 0; i < text.size(); ++i) {
      bytes[i % bytes.size()] ^= static_cast<std::byte>(text[i] + 5 * static_cast<int>(i));
    }
    return bytes;
  }

  void insert_states(const Sequence& sequence, uint32_t a) {
    if (!options_.needs_states || sequence.text.empty()) return;
    const Text text(sequence.text.begin(),
                    sequence.text.begin() + 1 + static_cast<ptrdiff_t>(a % sequence.text.size()));
    PrefixMatch match = tree_.match(Key(text));
    give_back(match);
    const bool is_known = match.n_known == std::ssize(text);
    const bool had = tree_.has_states(Key(text));
    RC_ASSERT(!had || is_known);
    const uint64_t n_evicted = tree_.stats().n_states_evicted;
    const bool is_kept =
        tree_.insert_states(Key(text), std::make_shared<std::vector<std::byte>>(states_of(text)));
    if (tree_.stats().n_states_evicted > n_evicted) states_evicted_ = true;
    RC_ASSERT(is_kept == tree_.has_states(Key(text)));
    if (!is_known) RC_ASSERT(!is_kept);
    if (is_kept) with_states_.insert(text);
    RC_ASSERT(tree_.stats().state_bytes <= state_budget_ || !pins_.empty());
    if (is_known && state_budget_ == SIZE_MAX) RC_ASSERT(is_kept);
  }

  void set_state_budget(uint32_t a) {
    state_budget_ = a % 3 == 0 ? SIZE_MAX : a % 100;
    const auto deepest_of_pins = [&] {
      std::vector<int64_t> deepest;
      for (const auto& [text, pin] : pins_) {
        PrefixMatch match = tree_.match(Key(std::span(text).first(static_cast<size_t>(pin.n_tokens()))));
        deepest.push_back(match.n_tokens);
        give_back(match);
      }
      return deepest;
    };
    const auto before = deepest_of_pins();
    tree_.set_state_budget(state_budget_);
    // What a pinned text would be gone on from stays, unless rules forbid to go on from the last copy.
    if (all_written_) RC_ASSERT(deepest_of_pins() == before);
    states_evicted_ = true;
    RC_ASSERT(tree_.stats().state_bytes <= state_budget_ || !pins_.empty());
  }

  // The tree's count of copies and their bytes is that of all texts that have some.
  void check_states() {
    int64_t n = 0;
    size_t n_bytes = 0;
    for (auto it = with_states_.begin(); it != with_states_.end();) {
      if (tree_.has_states(Key(*it))) {
        n += 1;
        n_bytes += states_of(*it++).size();
      } else {
        RC_ASSERT(evicted_ || states_evicted_);
        it = with_states_.erase(it);
      }
    }
    RC_ASSERT(tree_.stats().n_states == n);
    RC_ASSERT(tree_.stats().state_bytes == n_bytes);
  }

  void check_evictable() {
    const PageCounts n = tree_.n_evictable(), n_in_tree = tree_.stats().n_pages;
    for (const PageKind kind : kPageKinds) {
      RC_ASSERT(n[kind] >= 0);
      RC_ASSERT(n[kind] <= n_in_tree[kind]);
      if (pins_.empty() && is_idle()) RC_ASSERT(n[kind] == n_in_tree[kind]);
    }
  }

  bool is_idle() const {
    return std::ranges::all_of(sequences_, [](const Sequence& s) { return s.text.empty(); });
  }

  void write(Sequence& sequence, size_t n, uint32_t seed) {
    n = std::min(n, kMostTokens - std::min(kMostTokens, sequence.text.size()));
    // Mostly by the rules; another kind now and then, as other policies would.
    const bool by_rules = seed % 4 != 0 || options_.needs_states;
    const PageKind kind = by_rules ? options_.rules.written : kPageKinds[seed / 4 % 2];
    if (kind != options_.rules.written) all_written_ = false;
    using Extension = SequencePages::Extension;
    Extension extension = sequence.pages.extend(std::ssize(sequence.text) + static_cast<int64_t>(n), kind);
    if (extension.outcome == Extension::wrong_kind) {
      check(sequence.pages.pages(), sequence.text);
      const int64_t usable = sequence.pages.usable(std::ssize(sequence.text), {kind, 0});
      RC_ASSERT(usable == std::ssize(sequence.text) / kTwinPageTokens * kTwinPageTokens);
      truncate(sequence, static_cast<size_t>(usable));
      extension = sequence.pages.extend(usable + static_cast<int64_t>(n), kind);
      RC_ASSERT(extension.outcome != Extension::wrong_kind);
    }
    const auto first = sequence.text.size();
    if (extension.outcome == Extension::no_room) {
      const Text before = sequence.text;
      check(sequence.pages.pages(), before);
      evict(kind == PageKind::main ? PageCounts{11, 0} : PageCounts{0, 11});
      extension = sequence.pages.extend(static_cast<int64_t>(first + n), kind);
      if (extension.outcome == Extension::no_room) return;
    }
    if (const auto& copy = extension.copy) {
      RC_ASSERT(copy->kind == kind);
      RC_ASSERT(pools_[kind].holders(copy->to) == 1);
      RC_ASSERT(pools_[kind].holders(copy->from) > 0);
      RC_ASSERT(copy->n_tokens == static_cast<int32_t>(first % kTwinPageTokens));
      Slots& to = slots(kind, copy->to);
      to = {};
      std::copy_n(slots(kind, copy->from).begin(), copy->n_tokens, to.begin());
    }
    const Text more = random_text(seed % 5, n);
    for (const int32_t token : more) {
      sequence.text.push_back(token);
      const size_t at = sequence.text.size() - 1;
      const PageRef page = sequence.pages.pages()[at / kTwinPageTokens];
      RC_ASSERT(page[kind] >= 0);
      RC_ASSERT(pools_[kind].holders(page[kind]) == 1);
      slots(kind, page[kind])[at % kTwinPageTokens] = sequence.text;
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
    if (a % 3 == 0) n = n / kTwinPageTokens * kTwinPageTokens;
    if (a % 3 == 1) n = a % (n + 1);
    const std::span<const int32_t> tokens = std::span(sequence.text).first(n);
    const uint64_t evicted_before = tree_.stats().n_pages_evicted;
    sequence.pages.publish(tree_, Key(tokens), static_cast<PrefixClass>(b % 3));
    for (size_t i = 1; i <= n; ++i)
      known_.emplace(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(i));
    if (tree_.stats().n_pages_evicted > evicted_before) evicted_ = true;
    if (evicted_) return;
    PrefixMatch match = tree_.match(Key(tokens));
    RC_ASSERT(match.n_known == static_cast<int64_t>(n));
    check(match, Text(tokens.begin(), tokens.end()));
    // Full pages are stored once.
    for (size_t i = 0; i < static_cast<size_t>(match.n_tokens) / kTwinPageTokens; ++i) {
      for (const PageKind kind : kPageKinds) {
        const int32_t page = sequence.pages.pages()[i][kind];
        RC_ASSERT(page < 0 || match.pages[i][kind] == page);
      }
    }
    give_back(match);
  }

  void compress(Sequence& sequence, uint32_t a, bool drop) {
    const size_t n_full = sequence.text.size() / kTwinPageTokens;
    if (n_full == 0) return;
    const size_t i = a % n_full;
    const auto twin = sequence.pages.add_main(i);
    if (!twin) return;
    if (twin->is_new) {
      RC_ASSERT(pools_[PageKind::main].holders(twin->main) == 1);
      slots(PageKind::main, twin->main) = slots(PageKind::exact, sequence.pages.pages()[i].exact);
    }
    if (!drop) return;
    sequence.pages.drop_exact(i);
    if (options_.rules.written == PageKind::exact) all_written_ = false;
  }

  void evict(PageCounts wanted) {
    const PageCounts n_free = pools_.n_free(), n_more = tree_.n_evictable();
    const bool is_forecast =
        wanted.main <= n_free.main + n_more.main && wanted.exact <= n_free.exact + n_more.exact;
    const bool is_done = tree_.evict(wanted);
    RC_ASSERT(is_done || !is_forecast);
    if (is_done) {
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
      pins_.emplace_back(sequence.text, tree_.pin(Key(sequence.text)));
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
    const std::vector<int64_t> positions{static_cast<int64_t>(b % 7), static_cast<int64_t>(text.size())};
    claims_.push_back({text, positions, tree_.announce(Key(text), positions)});
    PrefixMatch match = tree_.match(Key(text), &claims_.back().claim);
    const int64_t n_before = options_.needs_states ? match.n_tokens : match.n_known;
    int64_t n_promised = n_before;
    for (size_t i = 0; i + 1 < claims_.size(); ++i) {
      const Text& other = claims_[i].text;
      int64_t n_common = 0;
      for (size_t k = 0; k < std::min(text.size(), other.size()) && text[k] == other[k]; ++k) n_common += 1;
      if (options_.needs_states) {
        for (const int64_t position : claims_[i].positions) {
          if (position <= n_common) n_promised = std::max(n_promised, position);
        }
        continue;
      }
      if (n_common < static_cast<int64_t>(other.size())) n_common = n_common / kTwinPageTokens * kTwinPageTokens;
      n_promised = std::max(n_promised, n_common);
    }
    RC_ASSERT(match.n_pending == n_promised - n_before);
    give_back(match);
  }

  struct Claimed {
    Text text;
    std::vector<int64_t> positions;
    PrefixTree::Claim claim;
  };

  PagePools pools_;
  const PrefixTreeOptions options_;
  PrefixTree tree_;
  std::array<std::vector<Slots>, 2> contents_;
  std::vector<Sequence> sequences_;
  std::set<Text> known_;  // all beginnings of what was published
  bool evicted_ = false;  // some of them may have been forgotten
  std::set<Text> with_states_;
  bool states_evicted_ = false;
  bool all_written_ = true;  // every page has the kind that the rules want
  size_t state_budget_ = SIZE_MAX;
  std::vector<std::pair<Text, PrefixTree::Pin>> pins_;
  std::vector<Claimed> claims_;
};

void play(const std::vector<Step>& history, PageCounts n_pages, const PrefixTreeOptions& options,
          bool evicts) {
  World world(n_pages, options);
  for (const Step& step : history) {
    const bool is_eviction = (step.action >= 12 && step.action < 16) || step.action == 18;
    if (is_eviction && !evicts) continue;
    world.play(step);
    world.check();
  }
  world.finish();
}

constexpr PrefixTreeOptions kPlain{};
constexpr PrefixTreeOptions kWindowed{.rules = {.written = PageKind::exact, .n_exact_first = 1},
                                      .needs_states = false};
constexpr PrefixTreeOptions kHybrid{.rules = {}, .needs_states = true};
constexpr PrefixTreeOptions kWindowedHybrid{.rules = {.written = PageKind::exact, .n_exact_first = 0},
                                            .needs_states = true};

RC_GTEST_PROP(PrefixTreeProperty, NothingIsLostWhileThereIsRoom, ()) {
  play(*histories(), {400, 400}, *rc::gen::element(kPlain, kWindowed, kHybrid, kWindowedHybrid), false);
}

RC_GTEST_PROP(PrefixTreeProperty, NothingIsMixedUpWhenMemoryIsShort, ()) {
  play(*histories(), {24, 16}, *rc::gen::element(kPlain, kWindowed, kHybrid, kWindowedHybrid), true);
}

}  // namespace
}  // namespace parlance
