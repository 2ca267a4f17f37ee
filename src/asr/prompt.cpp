#include "asr/prompt.h"

#include "asr/languages.h"
#include "asr/transcript.h"

namespace parlance {

namespace {

constexpr size_t kMaxContextTokens = 4096;

// Special tokens by name, and texts between them. Special tokens that a text spells out stay text.
class PromptWriter {
 public:
  explicit PromptWriter(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  PromptWriter& special(std::string_view name) {
    const auto token = tokenizer_.find(name);
    if (token) tokens_.push_back(*token);
    if (!token && missing_.empty()) missing_ = name;
    return *this;
  }
  PromptWriter& text(std::string_view text) {
    const std::vector<Token> tokens = tokenizer_.encode(text);
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    return *this;
  }

  Result<std::vector<Token>> take() {
    if (missing_.empty()) return std::move(tokens_);
    return fail(
        ErrorCode::unsupported,
        "the vocabulary has no token {}; speech recognition needs the language model of a Qwen3-ASR pair",
        missing_);
  }

 private:
  const Tokenizer& tokenizer_;
  std::vector<Token> tokens_;
  std::string missing_;
};

}  // namespace

Result<AsrPrompt> make_asr_prompt(const Tokenizer& tokenizer, std::string_view context,
                                  std::string_view language) {
  AsrPrompt prompt;
  if (!language.empty()) {
    PARLANCE_TRY(const SpeechLanguage found, find_speech_language(language));
    prompt.language = found.name;
  }
  PARLANCE_TRY(prompt.head, PromptWriter(tokenizer)
                                .special("<|im_start|>")
                                .text(fmt::format("system\n{}", context))
                                .special("<|im_end|>")
                                .text("\n")
                                .special("<|im_start|>")
                                .text("user\n")
                                .special("<|audio_start|>")
                                .take());
  if (prompt.head.size() > kMaxContextTokens) {
    return fail(ErrorCode::invalid_argument, "the context has {} tokens; give at most {} of names and terms",
                prompt.head.size(), kMaxContextTokens);
  }
  PromptWriter tail(tokenizer);
  tail.special("<|audio_end|>").special("<|im_end|>").text("\n").special("<|im_start|>");
  if (prompt.language.empty()) {
    tail.text("assistant\n");
  } else {
    tail.text(fmt::format("assistant\nlanguage {}", prompt.language)).special(kAsrTextTag);
  }
  PARLANCE_TRY(prompt.tail, tail.take());
  return prompt;
}

}  // namespace parlance
