#include "engine/lookup_index.h"

#include <algorithm>
#include <utility>

namespace parlance {

namespace {

// Of a longer match, the rest is no better reason.
constexpr int64_t kMostMatched = 32;

constexpr size_t kFirstHeads = 1024;

}  // namespace

// A place is the number of tokens before it; what it ends in are the last of these.
size_t LookupIndex::hash_at(size_t order, size_t place) const {
  uint64_t hash = 0;
  for (size_t i = 1; i <= kLengths[order]; ++i)
    hash = (hash + static_cast<uint32_t>(text_[place - i])) * 0x9e3779b97f4a7c15;
  return static_cast<size_t>(hash >> 32) & (chains_[order].heads.size() - 1);
}

void LookupIndex::add(size_t place) {
  for (size_t order = 0; order < kLengths.size(); ++order) {
    Chains& chains = chains_[order];
    chains.before.push_back(kNowhere);
    if (place < kLengths[order]) continue;
    int32_t& head = chains.heads[hash_at(order, place)];
    chains.before.back() = head;
    head = static_cast<int32_t>(place);
  }
}

void LookupIndex::rebuild() {
  size_t n_heads = kFirstHeads;
  while (n_heads < 2 * text_.size()) n_heads *= 2;
  for (Chains& chains : chains_) {
    chains.heads.assign(n_heads, kNowhere);
    chains.before.clear();
  }
  for (size_t place = 0; place < text_.size(); ++place) add(place);
}

void LookupIndex::follow(std::span<const Token> text) {
  const bool goes_on = text.size() >= text_.size() && std::ranges::equal(text.first(text_.size()), text_);
  const size_t n_before = goes_on ? text_.size() : 0;
  text_.resize(n_before);
  text_.insert(text_.end(), text.begin() + static_cast<ptrdiff_t>(n_before), text.end());
  if (!goes_on || text_.size() > chains_[0].heads.size()) return rebuild();
  for (size_t place = n_before; place < text_.size(); ++place) add(place);
}

int64_t LookupIndex::matched_before(size_t place) const {
  int64_t n = 0;
  while (n < kMostMatched && n < static_cast<int64_t>(place) &&
         text_[place - 1 - static_cast<size_t>(n)] == text_[text_.size() - 1 - static_cast<size_t>(n)])
    ++n;
  return n;
}

// Among the latest places that end in as many of the text's last tokens.
LookupIndex::Places LookupIndex::farthest(size_t order) const {
  Places places;
  if (text_.size() <= kLengths[order]) return places;
  const Chains& chains = chains_[order];
  int32_t place = chains.heads[hash_at(order, text_.size())];
  for (size_t n_seen = 0; place != kNowhere && n_seen < places.at.size(); ++n_seen) {
    const int64_t n_matched = matched_before(static_cast<size_t>(place));
    if (std::cmp_greater_equal(n_matched, kLengths[order]) && n_matched >= places.n_matched) {
      if (n_matched > places.n_matched) places.n = 0;
      places.n_matched = n_matched;
      places.at[places.n++] = place;
    }
    place = chains.before[static_cast<size_t>(place)];
  }
  return places;
}

LookupIndex::Found LookupIndex::find(int64_t most) const {
  Found found;
  if (most <= 0 || chains_[0].heads.empty()) return found;
  Places places;
  for (size_t order = kLengths.size(); order-- > 0 && places.n == 0;) places = farthest(order);
  size_t best = 0, best_votes = 0;
  for (size_t i = 0; i < places.n; ++i) {
    size_t votes = 0;
    for (size_t j = 0; j < places.n; ++j)
      votes += text_[static_cast<size_t>(places.at[j])] == text_[static_cast<size_t>(places.at[i])];
    if (votes > best_votes) {
      best = i;
      best_votes = votes;
    }
  }
  if (best_votes == 0) return found;
  for (auto at = static_cast<size_t>(places.at[best]); at < text_.size() && std::ssize(found.tokens) < most;
       ++at) {
    if (text_[at] < 0) break;  // stands for a row or for noise
    found.tokens.push_back(text_[at]);
  }
  found.n_matched = places.n_matched;
  found.agreement = static_cast<double>(best_votes) / static_cast<double>(places.n);
  return found;
}

}  // namespace parlance
