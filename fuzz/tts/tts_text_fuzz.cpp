// Any bytes as what is to be spoken, as a reference's words, as a voice and as a language: every answer is
// well-formed, and memory stays in proportion.
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../../tests/tokenizer/gguf_bytes.h"
#include "allocations.h"
#include "base/log.h"
#include "text/unicode.h"
#include "tokenizer/pre_tokenizer.h"
#include "tts/text/chunking.h"
#include "tts/text/combine.h"
#include "tts/text/duration.h"
#include "tts/text/first_clause.h"
#include "tts/text/languages.h"
#include "tts/text/non_verbal.h"
#include "tts/text/prompt.h"
#include "tts/text/voice_design.h"

namespace {

using namespace parlance;
using parlance::fuzz::require;

struct SmallTokenizers {
  std::string file_bytes;  // viewed by the tokenizers
  std::vector<Tokenizer> all;
};

SmallTokenizers make_small_tokenizers() {
  test::TinyVocabulary vocabulary = test::tiny_bpe("");
  vocabulary.file.set_string("general.architecture", "omnivoice-lm");
  for (const std::string name :
       {"denoise", "lang_start", "lang_end", "instruct_start", "instruct_end", "text_start", "text_end"}) {
    vocabulary.file.set_u32("omnivoice.special." + name, static_cast<uint32_t>(vocabulary.tokens.size()));
    vocabulary.add("<|" + name + "|>");
  }
  SmallTokenizers small{.file_bytes = vocabulary.bytes(), .all = {}};
  const Result<GgufFile> file = GgufFile::parse(std::as_bytes(std::span(small.file_bytes)), "small");
  require(file.has_value(), "a small vocabulary is a GGUF file");
  for (const TtsPreTokenizer pre : {TtsPreTokenizer::qwen2, TtsPreTokenizer::eliza}) {
    Result<Tokenizer> tokenizer = load_tts_tokenizer(*file, pre);
    require(tokenizer.has_value(), "a small vocabulary loads");
    small.all.push_back(std::move(*tokenizer));
  }
  return small;
}

std::string without_white_space(std::string_view text) {
  std::string kept;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    if (!is_white_space(next_code_point(text, at))) kept.append(text, start, at - start);
  }
  return kept;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

void fuzz_chunks(std::string_view text, size_t length, size_t shortest) {
  StreamingDecoder decoder;  // as the splitter decodes what it is given
  std::string valid = decoder.push(text);
  valid += decoder.finish();
  const std::vector<std::string> chunks = split_chunks(valid, length, shortest);
  for (const std::string& chunk : chunks) {
    require(!chunk.empty() && strip_white_space(chunk) == chunk, "chunks are words, stripped");
  }
  require(without_white_space(joined(chunks)) == without_white_space(valid), "chunks are the whole text");

  ChunkSplitter splitter(length, shortest);
  std::vector<std::string> streamed;
  for (size_t at = 0; at < text.size(); at += 7) {
    for (std::string& chunk : splitter.push(text.substr(at, 7))) streamed.push_back(std::move(chunk));
  }
  for (std::string& chunk : splitter.finish()) streamed.push_back(std::move(chunk));
  require(without_white_space(joined(streamed)) == without_white_space(valid), "a stream loses nothing");
  if (shortest == 0) require(streamed == chunks, "a stream gives the same chunks");
}

void fuzz_texts(std::string_view text) {
  const std::string combined = combine_texts(text.substr(0, text.size() / 2), text.substr(text.size() / 2));
  require(combined.size() <= text.size() + 1, "combining adds one space at most");
  require(combined.find_first_of("\r\n\t") == std::string::npos, "combined texts are one line");
  require(combined.find("  ") == std::string::npos, "combined texts have single spaces");
  require(add_punctuation(add_punctuation(text)) == add_punctuation(text), "punctuation is added once");

  const float weight = text_weight(text);
  require(std::isfinite(weight) && weight >= 0, "a text has a weight");
  require(n_target_frames(text, text, 25) >= 1 && n_target_frames(text, "", 0) >= 1, "a text has frames");
  const size_t first = first_clause(text);
  require(first <= text.size() && (first == 0 || text_weight(text.substr(0, first)) >= 7.9f),
          "a first clause is not short");

  std::string parts;
  split_non_verbal(text, [&](std::string_view part) { parts += part; });
  require(parts == text, "segments are the text");
  parts.clear();
  split_omnivoice(text, [&](std::string_view word) {
    require(!word.empty(), "words are not empty");
    parts += word;
  });
  require(parts == text, "words are the text");
}

void fuzz_voice(std::string_view text) {
  for (const bool speaks_chinese : {false, true}) {
    const Result<std::string> voice = resolve_voice_design(text, speaks_chinese);
    if (!voice) {
      std::string storage;
      require(replace_invalid(voice.error().message, storage) == voice.error().message, "errors are text");
      continue;
    }
    const Result<std::string> again = resolve_voice_design(*voice, speaks_chinese);
    require(again && *again == *voice, "a resolved voice stays");
  }
}

void fuzz_prompt(std::string_view text) {
  static const SmallTokenizers tokenizers = make_small_tokenizers();
  for (const Tokenizer& tokenizer : tokenizers.all) {
    const TtsPrompt prompt = make_tts_prompt(tokenizer, {.text = text,
                                                         .language = text,
                                                         .voice = text,
                                                         .reference_text = text,
                                                         .n_reference = 2,
                                                         .n_target = 3});
    for (const Token token : prompt.text_ids) {
      require(token >= 0 && token < tokenizer.n_vocab(), "ids are in the vocabulary");
    }
    require(prompt.text_ids.front() == tokenizer.find("<|denoise|>"), "the style comes first");
    require(prompt.text_ids.back() == tokenizer.find("<|text_end|>"), "the text's end comes last");
    require(prompt.n_columns() == prompt.text_ids.size() + 5, "columns are text, reference and target");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  set_log_level(LogLevel::off);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz_prompt({});  // makes the tokenizers, which are not to count
  constexpr size_t kMostBytesPerByte = 512, kMostBytes = 64 * 1024;
  const fuzz::AllocationLimit limit(kMostBytesPerByte * size + kMostBytes);
  fuzz_texts(text);
  fuzz_chunks(text, 1 + size % 40, size % 4);
  fuzz_voice(text);
  fuzz_prompt(text);
  const std::string_view code = find_tts_language(text);
  require(code.empty() || find_tts_language(code) == code, "codes are languages");
  return 0;
}
