// Bytes that begin as a GGUF file does are loaded as a vocabulary, which may fail but not crash; what loads
// has to encode and decode. Other bytes are text for small vocabularies of every kind, where more must hold.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../../tests/tokenizer/gguf_bytes.h"
#include "allocations.h"
#include "base/log.h"
#include "text/unicode.h"
#include "tokenizer/same_vocabulary.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace parlance;
using parlance::fuzz::require;

struct SmallTokenizer {
  std::string file_bytes;  // viewed by the tokenizer
  std::optional<Tokenizer> tokenizer;
  bool keeps_bytes;  // decoding gives back the very bytes, not U+FFFD where they are invalid
};

std::vector<SmallTokenizer> make_small_tokenizers() {
  std::vector<SmallTokenizer> all;
  for (const char* pre : {"qwen2", "qwen35", "llama-bpe", "gpt-2", "default"}) {
    all.push_back({test::tiny_bpe(pre).bytes(), {}, false});
  }
  test::TinyVocabulary no_prefix = test::tiny_sentencepiece();
  no_prefix.file.set_bool("tokenizer.ggml.add_space_prefix", false);
  all.push_back({no_prefix.bytes(), {}, true});
  for (SmallTokenizer& small : all) {
    Result<GgufFile> file = GgufFile::parse(std::as_bytes(std::span(small.file_bytes)), "small vocabulary");
    require(file.has_value(), "a small vocabulary is a GGUF file");
    Result<Tokenizer> tokenizer = Tokenizer::load(*file);
    require(tokenizer.has_value(), "a small vocabulary loads");
    small.tokenizer.emplace(std::move(*tokenizer));
  }
  return all;
}

std::string decode_in_stream(const Tokenizer& tokenizer, const std::vector<Token>& tokens) {
  StreamingDecoder decoder;
  std::string text;
  for (const Token token : tokens) {
    const std::string part = decoder.push(tokenizer.piece(token, true));
    std::string storage;
    require(replace_invalid(part, storage) == part, "the streaming decoder emits whole code points");
    text += part;
  }
  return text + decoder.finish();
}

std::string decode_at_once(std::string_view bytes) {
  StreamingDecoder decoder;
  const std::string text = decoder.push(bytes);
  return text + decoder.finish();
}

// SentencePiece vocabularies cannot tell U+2581 from a space.
std::string with_spaces(std::string_view text) {
  std::string result;
  size_t at = 0;
  for (size_t mark; (mark = text.find(kSentencePieceSpace, at)) != std::string_view::npos;) {
    result.append(text, at, mark - at).push_back(' ');
    at = mark + kSentencePieceSpace.size();
  }
  return result.append(text, at);
}

const std::vector<SmallTokenizer>& small_tokenizers() {
  static const std::vector<SmallTokenizer> tokenizers = make_small_tokenizers();
  return tokenizers;
}

void fuzz_text(std::string_view text) {
  for (const SmallTokenizer& small : small_tokenizers()) {
    const Tokenizer& tokenizer = *small.tokenizer;
    for (const bool parse_special : {false, true}) {
      const std::vector<Token> tokens = tokenizer.encode(text, {.parse_special = parse_special});
      for (const Token token : tokens)
        require(token >= 0 && token < tokenizer.n_vocab(), "ids are in the vocabulary");
      const std::string bytes = tokenizer.decode(tokens, true);
      require(decode_in_stream(tokenizer, tokens) == decode_at_once(bytes), "a stream gives the same text");
      std::string storage;
      if (small.keeps_bytes) {
        require(with_spaces(bytes) == with_spaces(text),
                "text comes back as it was, but for the mark of spaces");
      } else {
        require(bytes == replace_invalid(text, storage), "text comes back, invalid bytes as U+FFFD");
      }
      const std::vector<Token> framed =
          tokenizer.encode(text, {.add_special = true, .parse_special = parse_special});
      require(framed.size() == tokens.size() + tokenizer.adds_bos() + tokenizer.adds_eos(),
              "bos and eos come on top");
    }
  }
}

void require_one_line(const std::string& message) {
  require(message.size() < 1000, "messages are short");
  for (const char c : message) require(c >= ' ' && c <= '~', "messages are one line of plain text");
}

// As a drafter's vocabulary it fits itself, and others or not, which is said in a line.
void compare(const Tokenizer& tokenizer, const std::vector<SmallTokenizer>& others) {
  require(check_same_vocabulary(tokenizer, "a", tokenizer, "b").has_value(), "a vocabulary is its own");
  for (const SmallTokenizer& other : others) {
    const auto same = check_same_vocabulary(tokenizer, "fuzzed", *other.tokenizer, "small");
    if (!same) require_one_line(same.error().message);
  }
}

// A few characters in a merge become a string of its own with its places in tables; a character outside the
// byte alphabet becomes a visible marker.
constexpr size_t kMostBytesPerFileByte = 64;

void fuzz_file(std::span<const uint8_t> bytes) {
  const auto& others = small_tokenizers();
  const fuzz::AllocationLimit limit(bytes.size() * kMostBytesPerFileByte + 64 * 1024);
  const Result<GgufFile> file = GgufFile::parse(std::as_bytes(bytes), "fuzzed");
  if (!file) return;
  const Result<Tokenizer> tokenizer = Tokenizer::load(*file);
  if (!tokenizer) {
    require_one_line(tokenizer.error().message);
    return;
  }
  compare(*tokenizer, others);
  const std::string text =
      "Hello  world! 1234 <|im_start|><think>\n\xFF\xE4\xBD\xA0 e\xCC\x81 it's\t\r\n" + std::string(60, 'e');
  for (const Token token : tokenizer->encode(text, {true, true})) {
    require(token >= 0 && token < tokenizer->n_vocab(), "ids are in the vocabulary");
    (void)tokenizer->piece(token);
  }
  for (Token token = -1; token <= tokenizer->n_vocab(); ++token) (void)tokenizer->piece(token, true);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  set_log_level(LogLevel::off);
  const std::span<const uint8_t> bytes(data, size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("GGUF")) {
    fuzz_file(bytes);
  } else {
    fuzz_text(text);
  }
  return 0;
}
