// Text to token ids and back, from the vocabulary in a GGUF file: byte-level BPE ("gpt2") and SentencePiece
// style merging by score ("llama").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/reader.h"

namespace parlance {

using Token = int32_t;

enum class TokenKind : uint8_t {
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

struct EncodeOptions {
  bool add_special = false;    // bos and eos where the vocabulary asks for them
  bool parse_special = false;  // texts of control tokens become those tokens
};

class Tokenizer {
 public:
  // The vocabulary of a file, or an error that names the key. The tokenizer keeps the file mapped. `pre`
  // names a pre-tokenizer to be used whatever the file says.
  static Result<Tokenizer> load(const GgufFile& file, std::string_view pre = {});

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Any bytes are accepted (below 1 GiB); each invalid UTF-8 byte reads as U+FFFD in byte-level BPE. Time
  // grows with the length of the text, whatever is in it. May be called from several threads at once.
  std::vector<Token> encode(std::string_view text, EncodeOptions options = {}) const;

  // Bytes of one token. Control and unknown tokens are empty unless `with_special`. May end inside a code
  // point. Ids outside the vocabulary have no bytes, no text and an undefined kind.
  std::string_view piece(Token token, bool with_special = false) const;
  // Pieces of tokens in a row, without the space that encode() puts before a text where the vocabulary asks
  // for it.
  std::string decode(const std::vector<Token>& tokens, bool with_special = false) const;

  int32_t n_vocab() const;
  std::string_view text(Token token) const;  // as stored in the vocabulary
  TokenKind kind(Token token) const;
  std::optional<Token> find(std::string_view text) const;  // by stored text

  std::optional<Token> bos() const;
  std::optional<Token> eos() const;
  std::optional<Token> end_of_turn() const;
  std::optional<Token> unknown() const;
  std::optional<Token> padding() const;
  std::optional<Token> mask() const;
  bool adds_bos() const;
  bool adds_eos() const;
  bool is_end_of_generation(Token token) const;
  const std::vector<Token>& end_of_generation() const;  // sorted

  std::string_view model() const;  // "gpt2", "llama"
  std::string_view pre() const;    // "qwen2"; empty for "llama"
  std::optional<std::string_view> chat_template() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Turns pieces into text that never ends inside a code point: incomplete tails wait for the next piece, and
// bytes that can never become valid UTF-8 come out as U+FFFD.
class StreamingDecoder {
 public:
  // Text that is complete after these bytes.
  std::string push(std::string_view bytes);
  // What is left at the end.
  std::string finish();

 private:
  std::string pending_;
};

}  // namespace parlance
