// Cuts text into the pieces ("pre-tokens") within which byte-level BPE merges. What models publish are
// regular expressions; here each is a hand-written matcher, which takes time in proportion to the text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/function_ref.h"

namespace parlance {

enum class PrePattern : uint8_t { gpt2, llama3, qwen2, qwen35, plain, omnivoice };

// What the key tokenizer.ggml.pre stands for.
struct PreTokenizer {
  std::string_view name;
  PrePattern pattern;
  bool whole_words =
      false;              // a pre-token that is in the vocabulary is that token, whatever merging would give
  bool adds_bos = false;  // unless the file says otherwise
  bool takes_bytes = false;  // text as it is, where the others see invalid UTF-8 as U+FFFD
};

// The pre-tokenizer of a name, or null.
const PreTokenizer* find_pre_tokenizer(std::string_view name);
std::span<const PreTokenizer> pre_tokenizers();

// Calls `take` with every pre-token of the text, in order; together they are the text. The text is as
// replace_invalid() leaves it; only the pattern of a pre-tokenizer that takes bytes needs no such text.
void split_pre_tokens(PrePattern pattern, std::string_view text, FunctionRef<void(std::string_view)> take);

// The pattern of omnivoice.cpp: an approximation of qwen2, with ranges of code points in place of Unicode's
// classes and some steps by bytes where that goes by characters.
void split_omnivoice(std::string_view text, FunctionRef<void(std::string_view)> take);

}  // namespace parlance
