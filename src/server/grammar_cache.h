// Grammars over the language model's vocabulary that requests ask for. What is asked for again is not
// compiled again, and what was found out about its tokens is known still.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/text_model.h"
#include "grammar/grammar.h"
#include "grammar/token_masks.h"
#include "server/metrics.h"

namespace parlance {

// The least recently used goes first when there are too many, or they have grown too large together. Who
// follows one keeps it. From any thread.
class GrammarCache {
 public:
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostBytes = size_t{32} << 20;

  explicit GrammarCache(Metrics& metrics, size_t n_most = kMost, size_t n_bytes = kMostBytes)
      : metrics_(metrics), n_most_(n_most), n_bytes_(n_bytes) {}

  using Compile = std::function<Result<std::shared_ptr<const Grammar>>()>;
  // The grammar of a text in a notation, compiled where it is not known. Errors: of the compiler, of which
  // nothing is kept; a token that the vocabulary lacks.
  Result<std::shared_ptr<TokenMasks>> get(std::string_view notation, std::string_view text,
                                          const TextModel& model, const Compile& compile);

  size_t n_grammars() const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Grammar> grammar;
    std::shared_ptr<TokenMasks> masks;
    size_t bytes() const { return grammar->bytes() + masks->bytes(); }
  };
  std::shared_ptr<TokenMasks> find(const std::string& key);
  void add(Entry entry);

  Metrics& metrics_;
  const size_t n_most_, n_bytes_;
  mutable std::mutex mutex_;  // of what follows
  std::list<Entry> entries_;  // the last used first
  std::map<std::string, std::list<Entry>::iterator, std::less<>> by_key_;
};

}  // namespace parlance
