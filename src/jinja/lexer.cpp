#include "jinja/lexer.h"

#include <algorithm>
#include <charconv>

#include "base/checked.h"
#include "jinja/numbers.h"
#include "text/unicode.h"

namespace parlance::jinja {

namespace {

int hex_digit(char c) {
  if (is_ascii_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_sign(char c) {
  return c == '-' || c == '+';
}

// End of a run of digits, which single underscores may separate; `begin` when there is none.
size_t end_of_digits(std::string_view text, size_t begin) {
  size_t at = begin;
  while (at < text.size()) {
    if (is_ascii_digit(text[at])) {
      ++at;
    } else if (text[at] == '_' && at > begin && at + 1 < text.size() && is_ascii_digit(text[at + 1])) {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

std::string without_underscores(std::string_view text) {
  std::string result(text);
  std::erase(result, '_');
  return result;
}

}  // namespace

std::string describe(const Token& token) {
  switch (token.type) {
    case Token::Type::end:
      return "the end of the template";
    case Token::Type::error:
    case Token::Type::data:
      return "text";
    case Token::Type::output_begin:
      return "'{{'";
    case Token::Type::output_end:
      return "'}}'";
    case Token::Type::block_begin:
      return "'{%'";
    case Token::Type::block_end:
      return "'%}'";
    case Token::Type::string:
      return "a string";
    case Token::Type::name:
    case Token::Type::integer:
    case Token::Type::real:
    case Token::Type::symbol:
      break;
  }
  const std::string_view text = token.text.substr(0, 60);
  return fmt::format("'{}'", text.substr(0, start_of_code_point(text, text.size())));
}

std::string normalise_source(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string describe_position(std::string_view source, Position position) {
  const std::string_view before = source.substr(0, position);
  const size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1,
                     count_code_points(before.substr(line_begin)) + 1);
}

Token Lexer::next() {
  if (error_) return {Token::Type::error, static_cast<Position>(at_), {}, {}, 0, 0};
  return state_ == State::data ? data() : inside_tag();
}

Token Lexer::token(Token::Type type, size_t begin, size_t end) {
  at_ = end;
  return {type, static_cast<Position>(begin), source_.substr(begin, end - begin), {}, 0, 0};
}

Token Lexer::fail_at(size_t position, std::string message, ErrorCode code) {
  error_ = Error{code,
                 fmt::format("{}: {}", describe_position(source_, static_cast<Position>(position)), message)};
  return {Token::Type::error, static_cast<Position>(position), {}, {}, 0, 0};
}

size_t Lexer::skip_space(size_t at) const {
  return source_.size() - strip_left(source_.substr(at)).size();
}

// Where the template continues behind `mark`, the end of a tag, at `at`. The sign in front of it was read.
size_t Lexer::end_of_tag(size_t at, std::string_view mark, bool trims_newline) const {
  const char sign = at > 0 ? source_[at - 1] : '\0';
  at += mark.size();
  if (sign == '-') return skip_space(at);
  if (trims_newline && sign != '+' && this->at(at) == '\n') return at + 1;
  return at;
}

Token Lexer::data() {
  for (;;) {
    const size_t begin = at_;
    size_t tag = begin;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string_view::npos) {
        if (begin == source_.size()) return token(Token::Type::end, begin, begin);
        return token(Token::Type::data, begin, source_.size());
      }
      if (at(tag + 1) == '{' || at(tag + 1) == '%' || at(tag + 1) == '#') break;
    }
    const Token before = data_before_tag(tag, at(tag + 1) != '{');
    if (!before.text.empty()) {  // the tag is read by the next call, with nothing in front of it
      at_ = tag;
      return before;
    }
    if (at(tag + 1) == '#') {
      if (!skip_comment(tag)) return fail_at(tag, "a comment '{#' without its end '#}'");
      continue;
    }
    if (at(tag + 1) == '%') {
      if (const size_t end = end_of_raw_begin(tag); end != std::string_view::npos) {
        Token text = raw(tag, end);
        if (text.type == Token::Type::data && text.text.empty()) continue;
        return text;
      }
    }
    tag_ = tag;
    state_ = at(tag + 1) == '{' ? State::output : State::block;
    const size_t end = tag + 2 + (is_sign(at(tag + 2)) ? 1 : 0);
    return token(state_ == State::output ? Token::Type::output_begin : Token::Type::block_begin, tag, end);
  }
}

// The text from at_ to the tag, less what the tag strips of it.
Token Lexer::data_before_tag(size_t tag, bool strips_line) {
  std::string_view text = source_.substr(at_, tag - at_);
  const char sign = at(tag + 2);
  if (sign == '-') {
    text = strip_right(text);
  } else if (sign != '+' && strips_line) {
    const size_t newline = text.rfind('\n');
    const bool starts_line = at_ == 0 || source_[at_ - 1] == '\n';
    if (newline != std::string_view::npos || starts_line) {
      const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
      if (strip_left(text.substr(line)).empty()) text = text.substr(0, line);
    }
  }
  return {Token::Type::data, static_cast<Position>(at_), text, {}, 0, 0};
}

bool Lexer::skip_comment(size_t tag) {
  const size_t begin = tag + 2 + (is_sign(at(tag + 2)) ? 1 : 0);
  const size_t end = source_.find("#}", begin);
  if (end == std::string_view::npos) return false;
  if (end == begin) {  // a sign would be that of the beginning
    at_ = end + 2 + (at(end + 2) == '\n' ? 1 : 0);
  } else {
    at_ = end_of_tag(end, "#}", /*trims_newline=*/true);
  }
  return true;
}

// Where the text of `{% raw %}` begins, if that is the tag.
size_t Lexer::end_of_raw_begin(size_t tag) const {
  size_t at = skip_space(tag + 2 + (is_sign(this->at(tag + 2)) ? 1 : 0));
  if (source_.substr(at, 3) != "raw") return std::string_view::npos;
  at = skip_space(at + 3);
  if (source_.substr(at, 3) == "-%}") return skip_space(at + 3);
  return source_.substr(at, 2) == "%}" ? at + 2 : std::string_view::npos;
}

// The text up to `{% endraw %}`.
Token Lexer::raw(size_t tag, size_t begin) {
  for (size_t end = begin; (end = source_.find("{%", end)) != std::string_view::npos; ++end) {
    size_t at = skip_space(end + 2 + (is_sign(this->at(end + 2)) ? 1 : 0));
    if (source_.substr(at, 6) != "endraw") continue;
    at = skip_space(at + 6);
    if (is_sign(this->at(at))) ++at;
    if (source_.substr(at, 2) != "%}") continue;
    at_ = begin;
    Token text = data_before_tag(end, /*strips_line=*/true);
    at_ = end_of_tag(at, "%}", /*trims_newline=*/true);
    return text;
  }
  return fail_at(tag, "'{% raw %}' without its '{% endraw %}'");
}

Token Lexer::inside_tag() {
  if (open_.empty()) {
    const std::string_view mark = state_ == State::block ? "%}" : "}}";
    const size_t begin = skip_space(at_);
    const char sign = at(begin);
    const bool has_sign = sign == '-' || (sign == '+' && state_ == State::block);
    const size_t end = begin + (has_sign ? 1 : 0);
    if (source_.substr(end, 2) == mark) {
      // Without a sign of its own the mark must not take the last character of the tag for one.
      size_t behind = end + 2;
      if (has_sign) {
        behind = end_of_tag(end, mark, false);
      } else if (state_ == State::block && at(behind) == '\n') {
        ++behind;
      }
      const Token::Type type = state_ == State::block ? Token::Type::block_end : Token::Type::output_end;
      state_ = State::data;
      return token(type, begin, behind);
    }
  }
  at_ = skip_space(at_);
  const bool follows_dot = std::exchange(follows_dot_, false);
  if (at_ >= source_.size()) {
    return fail_at(tag_, fmt::format("a tag '{}' without its end", source_.substr(tag_, 2)));
  }
  const char c = source_[at_];
  if (is_ascii_digit(c)) {
    if (!follows_dot) return number();
    const size_t begin = at_;
    const size_t end = end_of_digits(source_, begin);
    Token index = token(Token::Type::integer, begin, end);
    const std::string digits = without_underscores(index.text);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), index.integer).ec != std::errc()) {
      return fail_at(begin, "an integer that does not fit into 64 bits is not supported",
                     ErrorCode::unsupported);
    }
    return index;
  }
  if (c == '"' || c == '\'') return string(c);
  size_t end = at_;
  while (end < source_.size()) {
    size_t behind = end;
    const char32_t character = next_code_point(source_, behind);
    const bool belongs = character < 0x80 ? is_ascii_digit(source_[end]) || character == '_' ||
                                                ((character | 0x20) >= 'a' && (character | 0x20) <= 'z')
                                          : is_identifier_part(character);
    if (!belongs) break;
    end = behind;
  }
  if (end > at_) return token(Token::Type::name, at_, end);
  return symbol();
}

Token Lexer::symbol() {
  const size_t begin = at_;
  for (const std::string_view two : {"//", "**", "==", "!=", ">=", "<="}) {
    if (source_.substr(begin, 2) == two) return token(Token::Type::symbol, begin, begin + 2);
  }
  const char c = source_[begin];
  if (std::string_view("+-/*%~[](){}><=.:|,;").find(c) == std::string_view::npos) {
    size_t end = begin;
    next_code_point(source_, end);
    return fail_at(begin, fmt::format("unexpected character '{}'", source_.substr(begin, end - begin)));
  }
  if (c == '(' || c == '[' || c == '{') open_.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
  if (c == ')' || c == ']' || c == '}') {
    if (open_.empty()) return fail_at(begin, fmt::format("unexpected '{}'", c));
    if (open_.back() != c)
      return fail_at(begin, fmt::format("unexpected '{}', expected '{}'", c, open_.back()));
    open_.pop_back();
  }
  follows_dot_ = c == '.';
  return token(Token::Type::symbol, begin, begin + 1);
}

Token Lexer::number() {
  const size_t begin = at_;
  size_t end = end_of_digits(source_, begin);
  // A fraction needs digits on both sides of its point, an exponent behind its sign.
  size_t fraction = end;
  if (at(end) == '.' && end_of_digits(source_, end + 1) > end + 1) fraction = end_of_digits(source_, end + 1);
  size_t exponent = fraction;
  if (at(fraction) == 'e' || at(fraction) == 'E') {
    const size_t digits = fraction + 1 + (is_sign(at(fraction + 1)) ? 1 : 0);
    if (end_of_digits(source_, digits) > digits) exponent = end_of_digits(source_, digits);
  }
  if (exponent > end) {
    Token real = token(Token::Type::real, begin, exponent);
    const std::string text = without_underscores(real.text);
    if (std::from_chars(text.data(), text.data() + text.size(), real.real).ec != std::errc()) {
      return fail_at(begin, "a number beyond the range of floats is not supported", ErrorCode::unsupported);
    }
    return real;
  }

  int base = 10;
  size_t digits = begin;
  if (at(begin) == '0') {
    const char kind = static_cast<char>(at(begin + 1) | 0x20);
    base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    const auto belongs = [&](char c) { return hex_digit(c) >= 0 && hex_digit(c) < base; };
    if (base != 10) {
      size_t at = begin + 2;
      while (belongs(this->at(at)) || (this->at(at) == '_' && belongs(this->at(at + 1)))) ++at;
      if (at > begin + 2) {
        digits = begin + 2;
        end = at;
      } else {
        base = 10;
      }
    }
    if (base == 10 && source_.substr(begin, end - begin).find_first_not_of("0_") != std::string_view::npos) {
      return fail_at(begin, "a decimal number cannot start with 0");
    }
  }
  Token integer = token(Token::Type::integer, begin, end);
  const std::string text = without_underscores(source_.substr(digits, end - digits));
  if (std::from_chars(text.data(), text.data() + text.size(), integer.integer, base).ec != std::errc()) {
    return fail_at(begin, "an integer that does not fit into 64 bits is not supported",
                   ErrorCode::unsupported);
  }
  return integer;
}

Token Lexer::string(char quote) {
  const size_t begin = at_;
  size_t end = begin + 1;
  while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size()) return fail_at(begin, "a string without its closing quote");
  std::string text;
  for (size_t at = begin + 1; at < end;) {
    if (source_[at] != '\\') {
      text += source_[at++];
    } else if (!resolve_escape(at, end, text)) {
      return fail_at(at, fmt::format("the escape '{}' in a string is not supported", source_.substr(at, 2)),
                     ErrorCode::unsupported);
    }
  }
  Token result = token(Token::Type::string, begin, end + 1);
  result.string = std::move(text);
  return result;
}

// The escape at `at`, which moves behind it, in a string that ends at `end`.
bool Lexer::resolve_escape(size_t& at, size_t end, std::string& text) {
  const char kind = source_[at + 1];
  constexpr std::string_view kNames = "\n\\'\"abfnrtv", kValues = "\n\\'\"\a\b\f\n\r\t\v";
  if (const size_t i = kNames.find(kind); i != std::string_view::npos) {
    if (kind != '\n') text += kValues[i];  // an escaped line end is none
    at += 2;
    return true;
  }
  size_t n_digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
  char32_t character = 0;
  if (kind >= '0' && kind <= '7') {
    size_t digit = at + 1;
    for (; digit < end && digit < at + 4 && source_[digit] >= '0' && source_[digit] <= '7'; ++digit) {
      character = character * 8 + static_cast<char32_t>(source_[digit] - '0');
    }
    at = digit;
  } else if (n_digits > 0) {
    if (at + 2 + n_digits > end) return false;
    for (size_t i = 0; i < n_digits; ++i) {
      const int digit = hex_digit(source_[at + 2 + i]);
      if (digit < 0 || character > 0x10ffff) return false;
      character = character * 16 + static_cast<char32_t>(digit);
    }
    if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) return false;
    at += 2 + n_digits;
  } else if (kind == 'N') {
    return false;
  } else {  // not an escape: the backslash stays
    text += source_[at++];
    return true;
  }
  append_utf8(text, character);
  return true;
}

}  // namespace parlance::jinja
