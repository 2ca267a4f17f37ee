#include "tokenizer/pieces.h"

#include <fmt/format.h>

#include <charconv>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/unicode.h"

namespace parlance {

namespace {

void append_byte_level(std::string& bytes, std::string_view text) {
  std::string storage;
  const std::string_view characters = replace_invalid(text, storage);
  for (size_t at = 0; at < characters.size();) {
    const CodePoint c = decode_code_point(characters, at);
    if (const std::optional<uint8_t> byte = byte_of_character(c.value)) {
      bytes.push_back(static_cast<char>(*byte));
    } else {
      bytes += "[UNK_BYTE_0x";
      for (const char part : characters.substr(at, c.n_bytes)) {
        fmt::format_to(std::back_inserter(bytes), "{:02x}", static_cast<uint8_t>(part));
      }
      bytes += ']';
    }
    at += c.n_bytes;
  }
}

void append_sentencepiece(std::string& bytes, std::string_view text) {
  size_t at = 0;
  for (size_t mark; (mark = text.find(kSentencePieceSpace, at)) != std::string_view::npos;) {
    bytes.append(text, at, mark - at).push_back(' ');
    at = mark + kSentencePieceSpace.size();
  }
  bytes.append(text, at);
}

// The byte of a text such as <0x0A>; a text of another form stands for itself.
void append_byte_token(std::string& bytes, std::string_view text) {
  uint8_t byte = 0;
  if (text.size() == 6 && text.starts_with("<0x") && text.back() == '>') {
    const char* const end = text.data() + 5;
    if (std::from_chars(text.data() + 3, end, byte, 16).ptr == end) {
      bytes.push_back(static_cast<char>(byte));
      return;
    }
  }
  bytes += text;
}

}  // namespace

Pieces::Pieces(const Vocabulary& vocabulary) {
  const int32_t n_tokens = vocabulary.n_tokens();
  ends_.reserve(static_cast<size_t>(n_tokens) + 1);
  ends_.push_back(0);
  for (Token token = 0; token < n_tokens; ++token) {
    const std::string_view text = vocabulary.text(token);
    switch (vocabulary.kind(token)) {
      case TokenKind::control:
      case TokenKind::unknown:
      case TokenKind::user_defined:
        bytes_ += text;
        break;
      case TokenKind::byte:
        append_byte_token(bytes_, text);
        break;
      case TokenKind::normal:
        if (vocabulary.model == VocabularyModel::byte_level_bpe) {
          append_byte_level(bytes_, text);
        } else {
          append_sentencepiece(bytes_, text);
        }
        break;
      case TokenKind::unused:
      case TokenKind::undefined:
        break;
    }
    ends_.push_back(bytes_.size());
  }
}

}  // namespace parlance
