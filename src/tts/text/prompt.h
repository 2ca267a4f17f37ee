// What the speech model is given: style and words as tokens, the frames of a reference voice, and the frames
// to be filled in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/reader.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

// How text is cut before its pieces are tokenised. They agree on ordinary prose.
enum class TtsPreTokenizer {
  qwen2,  // as in training
  eliza,  // as omnivoice.cpp does, for the same tokens as it gives
};

// The tokenizer of a speech model's file. Errors: its ids of special tokens are missing, or are not those of
// its vocabulary.
Result<Tokenizer> load_tts_tokenizer(const GgufFile& file, TtsPreTokenizer pre = TtsPreTokenizer::qwen2);

struct TtsPromptText {
  std::string_view text = {};
  std::string_view language = {};  // a name or a code of languages.h; anything else leaves it to the model
  std::string_view voice = {};     // as resolve_voice_design() gives it
  std::string_view reference_text = {};  // what is said in the reference; not used without one
  int32_t n_reference = 0;               // frames
  int32_t n_target = 1;                  // frames
  bool denoise = true;                   // a reference's noise is not to be imitated
};

// Columns of the model's input: text, reference frames, target frames. The row without guidance by text is
// the target alone, or, with the bias of omnivoice.cpp, the target first and then mask ids up to the same
// length.
struct TtsPrompt {
  std::vector<Token> text_ids;
  int32_t n_reference = 0;
  int32_t n_target = 0;

  size_t n_columns() const { return target_begin() + static_cast<size_t>(n_target); }
  size_t audio_begin() const { return text_ids.size(); }
  size_t target_begin() const { return audio_begin() + static_cast<size_t>(n_reference); }
};

TtsPrompt make_tts_prompt(const Tokenizer& tokenizer, const TtsPromptText& parts);

// The input ids, (n_codebook, n_columns): the text's in every row, then the reference's codes, (n_codebook,
// n_reference), then the mask id.
std::vector<int32_t> prompt_rows(const TtsPrompt& prompt, std::span<const int32_t> reference_codes,
                                 size_t n_codebook, int32_t mask_id);

}  // namespace parlance
