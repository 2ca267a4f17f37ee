#include "server/grammar_cache.h"

#include <chrono>
#include <numeric>

#include "bundle/sha256.h"

namespace parlance {

Result<std::shared_ptr<TokenMasks>> GrammarCache::get(std::string_view notation, std::string_view text,
                                                      const TextModel& model, const Compile& compile) {
  const std::string all = std::string(notation) + '\n' + std::string(text);
  const std::string key = sha256(std::as_bytes(std::span(all)));
  if (auto known = find(key)) return known;
  const auto began = std::chrono::steady_clock::now();
  auto grammar = compile();
  metrics_.add("grammar_compiles_total", 1, {{"result", grammar ? "ok" : "refused"}});
  metrics_.observe("grammar_compile_seconds",
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  if (!grammar) return tl::unexpected(grammar.error());
  PARLANCE_TRY(auto masks, TokenMasks::make(*grammar, model.token_trie()));
  add({.key = key, .grammar = *grammar, .masks = masks});
  return masks;
}

size_t GrammarCache::n_grammars() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

std::shared_ptr<TokenMasks> GrammarCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->masks;
}

// They grow while they are followed, so that all are asked for their sizes.
void GrammarCache::add(Entry entry) {
  const std::lock_guard lock(mutex_);
  if (by_key_.contains(entry.key)) return;  // compiled twice at the same time
  entries_.push_front(std::move(entry));
  by_key_.emplace(entries_.front().key, entries_.begin());
  size_t n_bytes = std::accumulate(entries_.begin(), entries_.end(), size_t{0},
                                   [](size_t sum, const Entry& one) { return sum + one.bytes(); });
  while (entries_.size() > 1 && (entries_.size() > n_most_ || n_bytes > n_bytes_)) {
    n_bytes -= std::min(n_bytes, entries_.back().bytes());
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

}  // namespace parlance
