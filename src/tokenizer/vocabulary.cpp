#include "tokenizer/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gguf/contents.h"

namespace parlance {

namespace {

Result<StringTable> load_texts(const GgufFile& file) {
  const std::string key = tokenizer_key("tokens");
  PARLANCE_TRY(std::optional<GgufStringArray> strings, file.find_strings(key));
  if (!strings) {
    return fail(ErrorCode::corrupt_file,
                "{}: key {} is missing, so there is no vocabulary; convert the model again", file.name(),
                key);
  }
  const uint64_t n = strings->size();
  if (n == 0 || n > static_cast<uint64_t>(std::numeric_limits<Token>::max())) {
    return fail(ErrorCode::corrupt_file, "{}: {} has {} tokens, expected 1 to {}; convert the model again",
                file.name(), key, n, std::numeric_limits<Token>::max());
  }
  std::vector<std::string_view> views(n);
  for (std::string_view& text : views) text = strings->next();
  StringTable texts;
  if (const auto twins = texts.assign(std::move(views))) {
    return fail(ErrorCode::corrupt_file, "{}: {}: tokens {} and {} are both \"{}\"; convert the model again",
                file.name(), key, twins->first, twins->second, printable(texts[twins->first]));
  }
  return texts;
}

Result<std::vector<TokenKind>> load_kinds(const GgufFile& file, size_t n_tokens) {
  const std::string key = tokenizer_key("token_type");
  PARLANCE_TRY(const std::optional<std::vector<int64_t>> values,
               file.find_ints(key, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
  if (!values) return std::vector<TokenKind>(n_tokens, TokenKind::normal);
  if (values->size() < n_tokens) {
    return fail(ErrorCode::corrupt_file, "{}: {} has {} entries for {} tokens; convert the model again",
                file.name(), key, values->size(), n_tokens);
  }
  std::vector<TokenKind> kinds(n_tokens);
  for (size_t i = 0; i < n_tokens; ++i) {
    const int64_t value = (*values)[i];
    const bool is_known = value >= 0 && value <= static_cast<int64_t>(TokenKind::byte);
    kinds[i] = is_known ? static_cast<TokenKind>(value) : TokenKind::undefined;
  }
  return kinds;
}

Result<std::vector<float>> load_scores(const GgufFile& file, size_t n_tokens) {
  const std::string key = tokenizer_key("scores");
  PARLANCE_TRY(std::optional<std::vector<float>> scores, file.find_floats(key));
  if (!scores) {
    return fail(ErrorCode::corrupt_file,
                "{}: key {} is missing, which a \"llama\" vocabulary merges by; convert the model again",
                file.name(), key);
  }
  if (scores->size() < n_tokens) {
    return fail(ErrorCode::corrupt_file, "{}: {} has {} entries for {} tokens; convert the model again",
                file.name(), key, scores->size(), n_tokens);
  }
  scores->resize(n_tokens);
  if (const auto bad = std::ranges::find_if(*scores, [](float s) { return std::isnan(s); });
      bad != scores->end()) {
    return fail(ErrorCode::corrupt_file, "{}: {}: entry {} is not a number; convert the model again",
                file.name(), key, bad - scores->begin());
  }
  return std::move(*scores);
}

}  // namespace

std::string tokenizer_key(std::string_view name) {
  return fmt::format("tokenizer.ggml.{}", name);
}

Result<Vocabulary> load_vocabulary(const GgufFile& file, VocabularyModel model, bool adds_bos) {
  const bool is_sentencepiece = model == VocabularyModel::sentencepiece;
  Vocabulary vocabulary;
  vocabulary.file = file;
  vocabulary.model = model;
  PARLANCE_TRY(vocabulary.texts, load_texts(file));
  const size_t n_tokens = vocabulary.texts.size();
  PARLANCE_TRY(vocabulary.kinds, load_kinds(file, n_tokens));
  if (is_sentencepiece) {
    PARLANCE_TRY(vocabulary.scores, load_scores(file, n_tokens));
  }
  PARLANCE_TRY(const std::optional<bool> add_bos, file.find_bool(tokenizer_key("add_bos_token")));
  PARLANCE_TRY(const std::optional<bool> add_eos, file.find_bool(tokenizer_key("add_eos_token")));
  PARLANCE_TRY(const std::optional<bool> add_space_prefix, file.find_bool(tokenizer_key("add_space_prefix")));
  vocabulary.adds_bos = add_bos.value_or(adds_bos);
  vocabulary.adds_eos = add_eos.value_or(false);
  vocabulary.adds_space_prefix = is_sentencepiece && add_space_prefix.value_or(true);
  PARLANCE_CHECK(find_special_tokens(vocabulary));
  return vocabulary;
}

}  // namespace parlance
