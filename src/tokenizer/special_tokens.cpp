// Which tokens begin and end texts, turns and generation. Files give the ids of some; for the others, and for
// the set of tokens that end generation, the texts that model families use are well known.
#include <algorithm>

#include "base/log.h"
#include "tokenizer/vocabulary.h"

namespace parlance {

namespace {

struct SpecialTokenKey {
  SpecialToken which;
  std::string_view key;                     // after "tokenizer.ggml."
  std::optional<Token> bpe, sentencepiece;  // when the file has no such key
};

constexpr SpecialTokenKey kKeys[] = {
    {SpecialToken::bos, "bos_token_id", 11, 1},
    {SpecialToken::eos, "eos_token_id", 11, 2},
    {SpecialToken::end_of_turn, "eot_token_id", {}, {}},
    {SpecialToken::end_of_message, "eom_token_id", {}, {}},
    {SpecialToken::unknown, "unknown_token_id", {}, 0},
    {SpecialToken::separator, "seperator_token_id", {}, {}},  // spelled so in files
    {SpecialToken::padding, "padding_token_id", {}, {}},
    {SpecialToken::mask, "mask_token_id", {}, {}},
    {SpecialToken::fim_prefix, "fim_pre_token_id", {}, {}},
    {SpecialToken::fim_suffix, "fim_suf_token_id", {}, {}},
    {SpecialToken::fim_middle, "fim_mid_token_id", {}, {}},
    {SpecialToken::fim_pad, "fim_pad_token_id", {}, {}},
    {SpecialToken::fim_repository, "fim_rep_token_id", {}, {}},
    {SpecialToken::fim_separator, "fim_sep_token_id", {}, {}},
};

struct WellKnownText {
  SpecialToken which;
  std::string_view text;
};

// For special tokens that the file does not name: the first of these that is in the vocabulary.
constexpr WellKnownText kWellKnown[] = {
    {SpecialToken::end_of_turn, "<|im_end|>"},
    {SpecialToken::end_of_turn, "<|eot_id|>"},
    {SpecialToken::end_of_turn, "<end_of_turn>"},
    {SpecialToken::end_of_turn, "<end_of_utterance>"},
    {SpecialToken::end_of_turn, "<|end|>"},
    {SpecialToken::end_of_turn, "<EOT>"},
    {SpecialToken::end_of_turn, "_<EOT>"},
    {SpecialToken::end_of_turn, "[EOT]"},
    {SpecialToken::end_of_turn, "<|end_of_text|>"},
    {SpecialToken::end_of_turn, "<|endoftext|>"},
    {SpecialToken::end_of_turn, "<｜end▁of▁sentence｜>"},
    {SpecialToken::end_of_message, "<|eom_id|>"},
    {SpecialToken::fim_prefix, "<|fim_prefix|>"},
    {SpecialToken::fim_prefix, "<fim_prefix>"},
    {SpecialToken::fim_suffix, "<|fim_suffix|>"},
    {SpecialToken::fim_suffix, "<fim_suffix>"},
    {SpecialToken::fim_middle, "<|fim_middle|>"},
    {SpecialToken::fim_middle, "<fim_middle>"},
    {SpecialToken::fim_pad, "<|fim_pad|>"},
    {SpecialToken::fim_pad, "<fim_pad>"},
    {SpecialToken::fim_pad, "<PAD>"},
    {SpecialToken::fim_pad, "[PAD]"},
    {SpecialToken::fim_repository, "<|fim_repo|>"},
    {SpecialToken::fim_repository, "<|repo_name|>"},
    {SpecialToken::fim_repository, "<reponame>"},
    {SpecialToken::fim_separator, "<|file_sep|>"},
};

// Tokens of these texts end generation, whatever the file says.
constexpr std::string_view kEndOfGenerationTexts[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
};

// Of the special tokens those that end generation. Fill-in-the-middle padding and separators are among them,
// since what follows them belongs to another text.
constexpr SpecialToken kEndOfGenerationTokens[] = {
    SpecialToken::eos,     SpecialToken::end_of_turn,    SpecialToken::end_of_message,
    SpecialToken::fim_pad, SpecialToken::fim_repository, SpecialToken::fim_separator,
};

std::optional<Token>& slot(Vocabulary& vocabulary, SpecialToken which) {
  return vocabulary.special[static_cast<size_t>(which)];
}

void make(TokenKind kind, Vocabulary& vocabulary, Token token) {
  vocabulary.kinds[static_cast<size_t>(token)] = kind;
}

Result<void> read_ids(Vocabulary& vocabulary) {
  const GgufFile& file = vocabulary.file;
  for (const SpecialTokenKey& entry : kKeys) {
    std::optional<Token>& token = slot(vocabulary, entry.which);
    token = vocabulary.model == VocabularyModel::byte_level_bpe ? entry.bpe : entry.sentencepiece;
    if (token && !vocabulary.has(*token)) token.reset();
    const std::string key = tokenizer_key(entry.key);
    // Ids of -1 for "none" are common in files: any integer is taken and then judged.
    PARLANCE_TRY(const std::optional<int64_t> id, file.find_int(key, INT64_MIN, INT64_MAX));
    if (!id) continue;
    if (*id < 0 || *id >= vocabulary.n_tokens()) {
      log_warning("{}: {} is {}, outside the vocabulary of {} tokens; it is ignored", file.name(), key, *id,
                  vocabulary.n_tokens());
      continue;
    }
    token = static_cast<Token>(*id);
  }
  return {};
}

bool ends_generation(const Vocabulary& vocabulary, std::string_view text) {
  const std::optional<Token> token = vocabulary.find(text);
  return token &&
         std::ranges::find(vocabulary.end_of_generation, *token) != vocabulary.end_of_generation.end();
}

// Takes a token out of the set again, where another one shows that it means something else.
void keep_generating(Vocabulary& vocabulary, std::string_view text, TokenKind kind) {
  if (const std::optional<Token> token = vocabulary.find(text)) {
    if (std::erase(vocabulary.end_of_generation, *token) > 0) make(kind, vocabulary, *token);
  }
}

}  // namespace

Result<void> find_special_tokens(Vocabulary& vocabulary) {
  PARLANCE_CHECK(read_ids(vocabulary));
  for (const WellKnownText& entry : kWellKnown) {
    std::optional<Token>& token = slot(vocabulary, entry.which);
    if (token) continue;
    token = vocabulary.find(entry.text);
    if (token) make(TokenKind::control, vocabulary, *token);
  }

  std::vector<Token>& ends = vocabulary.end_of_generation;
  for (const std::string_view text : kEndOfGenerationTexts) {
    if (const std::optional<Token> token = vocabulary.find(text)) {
      make(TokenKind::control, vocabulary, *token);
      ends.push_back(*token);
    }
  }
  for (const SpecialToken which : kEndOfGenerationTokens) {
    if (const std::optional<Token> token = vocabulary[which]) ends.push_back(*token);
  }

  // In the harmony format and its relatives <|end|> ends a message, not the answer.
  const bool has_call = ends_generation(vocabulary, "<|call|>") || ends_generation(vocabulary, "<|calls|>");
  const bool is_harmony =
      has_call && (ends_generation(vocabulary, "<|return|>") || ends_generation(vocabulary, "<|flush|>"));
  if (is_harmony) keep_generating(vocabulary, "<|end|>", TokenKind::user_defined);
  // Vocabularies with <|tool_response> have </s> as an ordinary piece of text.
  if (ends_generation(vocabulary, "<|tool_response>")) keep_generating(vocabulary, "</s>", TokenKind::normal);

  std::ranges::sort(ends);
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  return {};
}

void make_only_special(std::span<const std::string_view> texts, Vocabulary& vocabulary) {
  std::ranges::fill(vocabulary.kinds, TokenKind::normal);
  for (const std::string_view text : texts) {
    if (const std::optional<Token> token = vocabulary.find(text))
      make(TokenKind::control, vocabulary, *token);
  }
}

}  // namespace parlance
