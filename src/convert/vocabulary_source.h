// The vocabulary of a published model, as a GGUF file has it. Names, kinds and order of what is written are
// those of llama.cpp's converter.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "convert/weight_folder.h"
#include "gguf/writer.h"

namespace parlance {

// As tokenizer.ggml.token_type has them.
enum class TokenType : int32_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

struct VocabularySource {
  std::string model;  // "gpt2", "llama"
  std::string pre;    // what cuts text before tokens are made of it: "qwen2"
  std::vector<std::string> tokens;
  std::vector<TokenType> types;
  std::vector<float> scores;                              // of "llama" alone
  std::vector<std::string> merges;                        // "left right"; of "gpt2" alone
  std::vector<std::pair<std::string, uint32_t>> special;  // {"eos", 151645}, in the order of the file
  std::vector<std::pair<std::string, bool>> added;        // {"bos", false}: whether encoding adds it
  std::optional<std::string> chat_template;
  std::vector<std::pair<std::string, std::string>> named_templates;

  std::optional<uint32_t> find(std::string_view token) const;
};

// From tokenizer.json, else vocab.json and merges.txt, else (where `prefers_sentencepiece`, first)
// tokenizer.model; with tokenizer_config.json, chat_template.jinja and `config` beside it. Has `n_vocab`
// tokens: those that nobody names are unused. Errors: none of these files, one that is damaged, tokens beyond
// n_vocab, a way of cutting text that this program does not know.
Result<VocabularySource> read_vocabulary(const WeightFolder& folder, const Json& config, int64_t n_vocab,
                                         bool prefers_sentencepiece);

void write_vocabulary(GgufWriter& writer, const VocabularySource& vocabulary);

// The pieces of a tokenizer.model (a protocol buffer of SentencePiece). Any bytes are accepted.
struct VocabularyPiece {
  std::string text;
  float score = 0;
  TokenType type = TokenType::normal;
};
Result<std::vector<VocabularyPiece>> parse_sentencepiece_model(std::string_view bytes, std::string_view name);

// What the regular expressions of a tokenizer.json mean to a reader of GGUF files: "qwen2", "llama-bpe",
// "qwen35", "gpt-2"; empty: something else. `pre_tokenizer` is the object of that name.
std::string pre_tokenizer_name(const Json& pre_tokenizer);

}  // namespace parlance
