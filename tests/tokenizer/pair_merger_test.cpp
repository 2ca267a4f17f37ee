#include "tokenizer/pair_merger.h"

#include <map>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace parlance {
namespace {

// Rules as text: what "left|right" costs. Every string has an id.
class Rules {
 public:
  void add(const std::string& left, const std::string& right, uint32_t cost) {
    costs_.try_emplace({left, right}, cost);
  }

  auto lookup(const std::string& text) const {
    return [&text, this](uint32_t start, uint32_t n_left, uint32_t n_right) -> Merge {
      const auto found = costs_.find({text.substr(start, n_left), text.substr(start + n_left, n_right)});
      return found == costs_.end() ? Merge{} : Merge{found->second, static_cast<int32_t>(n_left + n_right)};
    };
  }

  // The definition: always the lowest cost, leftmost.
  std::vector<std::string> merge(const std::string& text) const {
    std::vector<std::string> parts;
    for (const char c : text) parts.emplace_back(1, c);
    for (;;) {
      size_t best = parts.size();
      uint32_t lowest = Merge::kNever;
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = costs_.find({parts[i], parts[i + 1]});
        if (found != costs_.end() && found->second < lowest) {
          lowest = found->second;
          best = i;
        }
      }
      if (best == parts.size()) return parts;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
    }
  }

 private:
  std::map<std::pair<std::string, std::string>, uint32_t> costs_;
};

std::vector<Symbol> letters(const std::string& text) {
  std::vector<Symbol> symbols;
  for (uint32_t i = 0; i < text.size(); ++i) symbols.push_back({i, 1, 1});
  return symbols;
}

std::vector<std::string> parts_of(const std::string& text, const std::vector<Symbol>& symbols) {
  std::vector<std::string> parts;
  for (const Symbol& symbol : symbols) {
    EXPECT_EQ(symbol.id, static_cast<int32_t>(symbol.n_bytes));
    parts.push_back(text.substr(symbol.start, symbol.n_bytes));
  }
  return parts;
}

TEST(PairMerger, BothWaysFollowTheDefinition) {
  std::mt19937_64 random(3);
  PairMerger merger;
  for (int round = 0; round < 3000; ++round) {
    // Strings that merges make are parts of later merges, so that chains form; equal costs happen.
    std::vector<std::string> known = {"a", "b", "c"};
    Rules rules;
    for (int i = 0; i < 12; ++i) {
      const std::string left = known[random() % known.size()], right = known[random() % known.size()];
      rules.add(left, right, static_cast<uint32_t>(random() % 8));
      known.push_back(left + right);
    }
    std::string text;
    for (uint64_t n = random() % 80; n > 0; --n) text.push_back("abc"[random() % 3]);
    const std::vector<std::string> expected = rules.merge(text);

    std::vector<Symbol> scanned = letters(text), heaped = letters(text), chosen = letters(text);
    merger.scan(scanned, rules.lookup(text));
    merger.use_heap(heaped, rules.lookup(text));
    merger.run(chosen, rules.lookup(text));
    EXPECT_EQ(parts_of(text, scanned), expected);
    EXPECT_EQ(parts_of(text, heaped), expected);
    EXPECT_EQ(parts_of(text, chosen), expected);
  }
}

TEST(PairMerger, NothingToMerge) {
  PairMerger merger;
  Rules rules;
  for (const std::string text : {"", "a", "abc"}) {
    std::vector<Symbol> symbols = letters(text);
    merger.use_heap(symbols, rules.lookup(text));
    merger.scan(symbols, rules.lookup(text));
    EXPECT_EQ(symbols.size(), text.size());
  }
}

}  // namespace
}  // namespace parlance
