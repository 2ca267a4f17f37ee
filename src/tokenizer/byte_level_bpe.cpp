#include "tokenizer/byte_level_bpe.h"

#include <algorithm>

#include "text/unicode.h"
#include "tokenizer/byte_alphabet.h"

namespace parlance {

Result<ByteLevelBpe> ByteLevelBpe::load(const Vocabulary& vocabulary, const PreTokenizer& pre) {
  const GgufFile& file = vocabulary.file;
  const std::string key = tokenizer_key("merges");
  PARLANCE_TRY(const std::optional<GgufStringArray> merges, file.find_strings(key));
  if (!merges) {
    return fail(ErrorCode::corrupt_file,
                "{}: key {} is missing, which a \"gpt2\" vocabulary needs; convert the model again",
                file.name(), key);
  }
  if (merges->size() >= Merge::kNever) {
    return fail(ErrorCode::corrupt_file,
                "{}: {} has {} entries, expected fewer than {}; convert the model again", file.name(), key,
                merges->size(), Merge::kNever);
  }
  ByteLevelBpe bpe(vocabulary, pre);
  for (size_t byte = 0; byte < 256; ++byte) {
    bpe.byte_tokens_[byte] = vocabulary.find(character_of_byte(static_cast<uint8_t>(byte)).view());
  }
  bpe.load_merges(*merges);
  return bpe;
}

void ByteLevelBpe::load_merges(GgufStringArray merges) {
  const auto n_tokens = static_cast<uint32_t>(vocabulary_->n_tokens());
  rules_.resize(n_tokens);
  std::string buffer;
  // Vocabularies list the tokens that merges make in the order of the merges, so that the next one mostly
  // makes the next token, which is cheaper to compare than to look up.
  uint32_t next = 0;
  const auto n_merges = static_cast<uint32_t>(merges.size());
  for (uint32_t rank = 0; rank < n_merges; ++rank) {
    const std::string_view merge = merges.next();
    const size_t cut = merge.find(' ', 1);
    if (cut == std::string_view::npos) continue;
    const std::string_view left = merge.substr(0, cut), right = merge.substr(cut + 1);
    int32_t symbol;
    if (next < n_tokens && vocabulary_->texts[next].size() == merge.size() - 1 &&
        vocabulary_->texts[next].starts_with(left) && vocabulary_->texts[next].ends_with(right)) {
      symbol = static_cast<int32_t>(next);
    } else {
      symbol = find_or_add_symbol(left, right, buffer);
    }
    next = static_cast<uint32_t>(symbol) + 1;
    add_rule(symbol, {rank, static_cast<uint32_t>(left.size()), -1});
    n_longest_ = std::max(n_longest_, merge.size() - 1);
  }
}

int32_t ByteLevelBpe::find_or_add_symbol(std::string_view left, std::string_view right, std::string& buffer) {
  buffer.assign(left).append(right);
  if (const std::optional<Token> token = vocabulary_->find(buffer)) return *token;
  int64_t extra = extra_.find(buffer);
  if (extra < 0) {
    extra = static_cast<int64_t>(extra_.size());
    extra_strings_.push_back(buffer);
    extra_.insert(extra_strings_.back());
    rules_.emplace_back();
  }
  return vocabulary_->n_tokens() + static_cast<int32_t>(extra);
}

void ByteLevelBpe::add_rule(int32_t symbol, Rule rule) {
  Rule& first = rules_[static_cast<size_t>(symbol)];
  if (first.rank == Merge::kNever) {
    first = rule;
    return;
  }
  // The same merge listed twice has the rank of the first.
  Rule* last = &first;
  while (last->n_left != rule.n_left && last->other >= 0)
    last = &other_rules_[static_cast<size_t>(last->other)];
  if (last->n_left == rule.n_left) return;
  last->other = static_cast<int32_t>(other_rules_.size());
  other_rules_.push_back(rule);
}

Merge ByteLevelBpe::find_merge(std::string_view merged, uint32_t n_left) const {
  if (merged.size() > n_longest_) return {};
  int64_t symbol = vocabulary_->texts.find(merged);
  if (symbol < 0) {
    if (extra_strings_.empty() || (symbol = extra_.find(merged)) < 0) return {};
    symbol += vocabulary_->n_tokens();
  }
  const Rule* rule = &rules_[static_cast<size_t>(symbol)];
  while (rule->n_left != n_left) {
    if (rule->other < 0) return {};
    rule = &other_rules_[static_cast<size_t>(rule->other)];
  }
  return {rule->rank, static_cast<int32_t>(symbol)};
}

void ByteLevelBpe::encode(std::string_view text, std::vector<Token>& tokens) const {
  std::string storage;
  Scratch scratch;
  split_pre_tokens(pre_->pattern, pre_->takes_bytes ? text : replace_invalid(text, storage),
                   [&](std::string_view word) { encode_word(word, scratch, tokens); });
}

void ByteLevelBpe::encode_word(std::string_view word, Scratch& scratch, std::vector<Token>& tokens) const {
  std::string& characters = scratch.characters;
  std::vector<Symbol>& symbols = scratch.symbols;
  characters.clear();
  symbols.clear();
  for (const char c : word) {
    const auto byte = static_cast<uint8_t>(c);
    const std::string_view character = character_of_byte(byte).view();
    symbols.push_back({static_cast<uint32_t>(characters.size()), static_cast<uint32_t>(character.size()),
                       byte_tokens_[byte].value_or(-1)});
    characters += character;
  }
  if (pre_->whole_words) {
    if (const std::optional<Token> token = vocabulary_->find(characters)) {
      tokens.push_back(*token);
      return;
    }
  }
  const std::string_view view = characters;
  scratch.merger.run(symbols, [&](uint32_t start, uint32_t n_left, uint32_t n_right) {
    return find_merge(view.substr(start, n_left + n_right), n_left);
  });
  for (const Symbol& symbol : symbols) emit(symbol, view, tokens);
}

void ByteLevelBpe::emit(const Symbol& symbol, std::string_view characters, std::vector<Token>& tokens) const {
  if (symbol.id >= 0 && symbol.id < vocabulary_->n_tokens()) {
    tokens.push_back(symbol.id);
    return;
  }
  // A broken vocabulary: what merging made is no token. Its bytes stand in for it, where they are tokens.
  const size_t end = symbol.start + symbol.n_bytes;
  for (size_t at = symbol.start; at < end;) {
    const CodePoint c = decode_code_point(characters, at);
    const int byte = byte_of_character(c.value);
    if (byte >= 0 && byte_tokens_[byte]) tokens.push_back(*byte_tokens_[byte]);
    at += c.n_bytes;
  }
}

}  // namespace parlance
