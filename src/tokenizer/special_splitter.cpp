#include "tokenizer/special_splitter.h"

#include <algorithm>
#include <initializer_list>

namespace parlance {

namespace {

std::vector<Token> tokens_of_kinds(const Vocabulary& vocabulary, std::initializer_list<TokenKind> kinds) {
  std::vector<Token> tokens;
  for (Token token = 0; token < vocabulary.n_tokens(); ++token) {
    if (vocabulary.text(token).empty()) continue;
    if (std::ranges::find(kinds, vocabulary.kind(token)) != kinds.end()) tokens.push_back(token);
  }
  return tokens;
}

}  // namespace

SpecialSplitter::Dictionary::Dictionary(const Vocabulary& vocabulary, std::vector<Token> tokens)
    : vocabulary_(&vocabulary), tokens_(std::move(tokens)) {
  std::ranges::sort(tokens_, {}, [&](Token token) { return vocabulary.text(token); });
  first_.fill(0);
  for (const Token token : tokens_) ++first_[static_cast<uint8_t>(text(token)[0]) + 1];
  for (size_t byte = 0; byte < 256; ++byte) first_[byte + 1] += first_[byte];
}

Token SpecialSplitter::Dictionary::longest_prefix(std::string_view text, size_t n_most) const {
  const auto byte = static_cast<uint8_t>(text[0]);
  auto low = tokens_.begin() + first_[byte], high = tokens_.begin() + first_[byte + 1];
  Token longest = -1;
  // Tokens in [low, high) begin with the first `n` bytes of the text; one that has no more bytes comes first.
  for (size_t n = 1; low != high; ++n) {
    if (this->text(*low).size() == n) longest = *low++;
    if (n >= std::min(n_most, text.size())) break;
    const auto nth = [&](Token token) { return static_cast<uint8_t>(this->text(token)[n]); };
    const auto range = std::ranges::equal_range(low, high, static_cast<uint8_t>(text[n]), {}, nth);
    low = range.begin();
    high = range.end();
  }
  return longest;
}

SpecialSplitter::SpecialSplitter(const Vocabulary& vocabulary)
    : user_defined_(vocabulary, tokens_of_kinds(vocabulary, {TokenKind::user_defined})),
      all_(vocabulary,
           tokens_of_kinds(vocabulary, {TokenKind::control, TokenKind::unknown, TokenKind::user_defined})) {}

// The longest token that begins at each position, if any.
std::vector<SpecialSplitter::Occurrence> SpecialSplitter::find_occurrences(const Dictionary& dictionary,
                                                                           std::string_view text) {
  std::vector<Occurrence> occurrences;
  for (size_t at = 0; at < text.size(); ++at) {
    const Token token = dictionary.longest_prefix(text.substr(at), text.size());
    if (token >= 0) occurrences.push_back({token, at, dictionary.text(token).size()});
  }
  return occurrences;
}

// Chooses the longest first, the leftmost of equals. One that overlaps with a chosen one gives way to the
// longest token that begins at the same place and fits, if there is one.
std::vector<SpecialSplitter::Occurrence> SpecialSplitter::without_overlaps(const Dictionary& dictionary,
                                                                           std::string_view text,
                                                                           std::vector<Occurrence> waiting) {
  const auto later = [](const Occurrence& a, const Occurrence& b) {
    return a.n_bytes != b.n_bytes ? a.n_bytes < b.n_bytes : a.start > b.start;
  };
  std::ranges::make_heap(waiting, later);
  std::vector<bool> is_taken(text.size());
  std::vector<Occurrence> chosen;
  while (!waiting.empty()) {
    std::ranges::pop_heap(waiting, later);
    Occurrence next = waiting.back();
    waiting.pop_back();
    // What was chosen before is at least as long, so an overlap shows at one of the two ends.
    if (is_taken[next.start]) continue;
    if (!is_taken[next.start + next.n_bytes - 1]) {
      std::fill_n(is_taken.begin() + static_cast<ptrdiff_t>(next.start), next.n_bytes, true);
      chosen.push_back(next);
      continue;
    }
    size_t n_free = 1;
    while (!is_taken[next.start + n_free]) ++n_free;
    next.token = dictionary.longest_prefix(text.substr(next.start), n_free);
    if (next.token < 0) continue;
    next.n_bytes = dictionary.text(next.token).size();
    waiting.push_back(next);
    std::ranges::push_heap(waiting, later);
  }
  std::ranges::sort(chosen, {}, &Occurrence::start);
  return chosen;
}

void SpecialSplitter::split(std::string_view text, bool parse_special,
                            FunctionRef<void(Token token, std::string_view part)> take) const {
  const Dictionary& dictionary = parse_special ? all_ : user_defined_;
  std::vector<Occurrence> occurrences = find_occurrences(dictionary, text);
  const bool overlap = std::ranges::adjacent_find(occurrences, [](const Occurrence& a, const Occurrence& b) {
                         return a.start + a.n_bytes > b.start;
                       }) != occurrences.end();
  if (overlap) occurrences = without_overlaps(dictionary, text, std::move(occurrences));
  size_t at = 0;
  for (const Occurrence& occurrence : occurrences) {
    if (occurrence.start > at) take(-1, text.substr(at, occurrence.start - at));
    take(occurrence.token, text.substr(occurrence.start, occurrence.n_bytes));
    at = occurrence.start + occurrence.n_bytes;
  }
  if (text.size() > at) take(-1, text.substr(at));
}

}  // namespace parlance
