#include "tts/text/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>

#include "tts/text/combine.h"
#include "tts/text/languages.h"
#include "tts/text/non_verbal.h"

namespace parlance {

namespace {

constexpr std::string_view kDenoise = "<|denoise|>", kLanguageStart = "<|lang_start|>",
                           kLanguageEnd = "<|lang_end|>", kVoiceStart = "<|instruct_start|>",
                           kVoiceEnd = "<|instruct_end|>", kTextStart = "<|text_start|>",
                           kTextEnd = "<|text_end|>";

constexpr std::string_view kNothing = "None";  // where neither language nor voice is given

struct SpecialKey {
  std::string_view key;  // after "omnivoice.special."
  std::string_view text;
};
constexpr SpecialKey kSpecialKeys[] = {
    {"denoise", kDenoise},           {"lang_start", kLanguageStart}, {"lang_end", kLanguageEnd},
    {"instruct_start", kVoiceStart}, {"instruct_end", kVoiceEnd},    {"text_start", kTextStart},
    {"text_end", kTextEnd},
};

std::string_view or_nothing(std::string_view text) {
  return text.empty() ? kNothing : text;
}

void append_tokens(const Tokenizer& tokenizer, std::string_view text, std::vector<Token>& ids) {
  const std::vector<Token> tokens = tokenizer.encode(text, {.parse_special = true});
  ids.insert(ids.end(), tokens.begin(), tokens.end());
}

}  // namespace

Result<Tokenizer> load_tts_tokenizer(const GgufFile& file, TtsPreTokenizer pre) {
  PARLANCE_TRY(Tokenizer tokenizer,
               Tokenizer::load(file, pre == TtsPreTokenizer::eliza ? "omnivoice" : std::string_view()));
  for (const SpecialKey& special : kSpecialKeys) {
    const std::string key = fmt::format("omnivoice.special.{}", special.key);
    PARLANCE_TRY(const int64_t id, file.get_int(key, 0, std::numeric_limits<Token>::max()));
    if (tokenizer.find(special.text) == static_cast<Token>(id)) continue;
    return fail(ErrorCode::corrupt_file,
                "{}: {} is {}, which is not the token {} of the vocabulary; convert the model again",
                file.name(), key, id, special.text);
  }
  return tokenizer;
}

TtsPrompt make_tts_prompt(const Tokenizer& tokenizer, const TtsPromptText& parts) {
  assert(parts.n_reference >= 0 && parts.n_target >= 1);
  const bool has_reference = parts.n_reference > 0;
  TtsPrompt prompt{.text_ids = {}, .n_reference = parts.n_reference, .n_target = parts.n_target};
  const std::string style =
      fmt::format("{}{}{}{}{}{}{}", parts.denoise && has_reference ? kDenoise : std::string_view(),
                  kLanguageStart, or_nothing(find_tts_language(parts.language)), kLanguageEnd, kVoiceStart,
                  or_nothing(parts.voice), kVoiceEnd);
  append_tokens(tokenizer, style, prompt.text_ids);

  const std::string words =
      combine_texts(has_reference ? parts.reference_text : std::string_view(), parts.text);
  split_non_verbal(fmt::format("{}{}{}", kTextStart, words, kTextEnd),
                   [&](std::string_view part) { append_tokens(tokenizer, part, prompt.text_ids); });
  return prompt;
}

std::vector<int32_t> prompt_rows(const TtsPrompt& prompt, std::span<const int32_t> reference_codes,
                                 size_t n_codebook, int32_t mask_id) {
  const auto n_reference = static_cast<size_t>(prompt.n_reference);
  assert(reference_codes.size() == n_codebook * n_reference);
  std::vector<int32_t> rows(n_codebook * prompt.n_columns(), mask_id);
  for (size_t codebook = 0; codebook < n_codebook; ++codebook) {
    const std::span<int32_t> row = std::span(rows).subspan(codebook * prompt.n_columns(), prompt.n_columns());
    std::ranges::copy(prompt.text_ids, row.begin());
    std::ranges::copy(reference_codes.subspan(codebook * n_reference, n_reference),
                      row.subspan(prompt.audio_begin()).begin());
  }
  return rows;
}

}  // namespace parlance
