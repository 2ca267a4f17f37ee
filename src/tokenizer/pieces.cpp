#include "tokenizer/pieces.h"

#include <fmt/format.h>

#include <charconv>

#include "text/unicode.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/sentencepiece.h"

namespace parlance {

namespace {

void append_outside_alphabet(std::string& bytes, std::string_view character) {
  bytes += "[UNK_BYTE_0x";
  for (const char c : character) fmt::format_to(std::back_inserter(bytes), "{:02x}", static_cast<uint8_t>(c));
  bytes += ']';
}

// This runs over the whole vocabulary when a model is loaded, hence the table of ASCII and of two-byte
// characters, which is all that the alphabet has.
void append_byte_level(std::string& bytes, std::string_view text) {
  const size_t before = bytes.size();
  bytes.resize(before + text.size());
  char* out = bytes.data() + before;
  size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<uint8_t>(text[at]);
    const bool is_pair = (lead & 0xE0) == 0xC0 && text.size() - at >= 2 && (text[at + 1] & 0xC0) == 0x80;
    const char32_t c = is_pair ? static_cast<char32_t>((lead & 0x1F) << 6 | (text[at + 1] & 0x3F)) : lead;
    const int byte = (lead < 0x80) || (is_pair && c >= 0x80) ? byte_of_character(c) : -1;
    if (byte < 0) break;
    *out++ = static_cast<char>(byte);
    at += is_pair ? 2 : 1;
  }
  bytes.resize(static_cast<size_t>(out - bytes.data()));
  if (at == text.size()) return;

  std::string storage;
  const std::string_view rest = replace_invalid(text.substr(at), storage);
  for (at = 0; at < rest.size();) {
    const CodePoint c = decode_code_point(rest, at);
    const int byte = byte_of_character(c.value);
    if (byte >= 0) {
      bytes.push_back(static_cast<char>(byte));
    } else {
      append_outside_alphabet(bytes, rest.substr(at, c.n_bytes));
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
