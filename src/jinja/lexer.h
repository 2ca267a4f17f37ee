// Template text to tokens. White space around tags is settled here, with the settings that chat templates are
// written for: the first newline behind a block or comment is dropped (trim_blocks), so is the white space of
// the line before one (lstrip_blocks), `-` drops all white space on its side, `+` keeps it, and a newline at
// the very end of the template is dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace parlance::jinja {

// Offset into the normalised source; turned into line and column when an error is worded.
using Position = uint32_t;

struct Token {
  enum class Type {
    end,
    error,  // Lexer::error() says what
    data,
    output_begin,  // {{
    output_end,
    block_begin,  // {%
    block_end,
    name,
    string,
    integer,
    real,
    symbol,
  };
  Type type = Type::end;
  Position position = 0;
  std::string_view text;  // of data, names and symbols: into the source
  std::string string;     // of a string literal, with its escapes resolved
  int64_t integer = 0;
  double real = 0;

  bool is_name(std::string_view name) const { return type == Type::name && text == name; }
  bool is_symbol(std::string_view symbol) const { return type == Type::symbol && text == symbol; }
};

// How a token is named in an error: `'endif'`, `end of the template`.
std::string describe(const Token& token);

// Line ends as \n, without the newline at the end of the template.
std::string normalise_source(std::string_view source);

// "line 3, column 14": of a position, both counted from 1, columns in characters.
std::string describe_position(std::string_view source, Position position);

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}
  Token next();
  const Error& error() const { return *error_; }

 private:
  enum class State { data, output, block };

  Token data();
  Token data_before_tag(size_t tag, bool strips_line);
  Token raw(size_t tag, size_t begin);
  Token inside_tag();
  Token number();
  Token string(char quote);
  Token symbol();
  bool resolve_escape(size_t& at, size_t end, std::string& text);
  bool skip_comment(size_t tag);
  size_t end_of_raw_begin(size_t tag) const;
  size_t skip_space(size_t at) const;
  size_t end_of_tag(size_t at, std::string_view mark, bool trims_newline) const;
  char at(size_t offset) const { return offset < source_.size() ? source_[offset] : '\0'; }
  Token token(Token::Type type, size_t begin, size_t end);
  Token fail_at(size_t position, std::string message, ErrorCode code = ErrorCode::corrupt_file);

  std::string_view source_;
  size_t at_ = 0;
  State state_ = State::data;
  size_t tag_ = 0;            // of the tag being read
  std::vector<char> open_;    // brackets of the tag that are to be closed
  bool follows_dot_ = false;  // `a.0.1` has no floats
  std::optional<Error> error_;
};

}  // namespace parlance::jinja
