#include "jinja/token_reader.h"

#include <utility>

namespace parlance::jinja {

TokenReader::TokenReader(std::string_view source, const TemplateLimits& limits)
    : source_(source), max_depth_(limits.max_depth), lexer_(source) {
  current_ = lexer_.next();
  following_ = lexer_.next();
}

Token TokenReader::take() {
  Token taken = std::move(current_);
  current_ = std::move(following_);
  if (current_.type != Token::Type::end && current_.type != Token::Type::error) following_ = lexer_.next();
  return taken;
}

bool TokenReader::take_symbol(std::string_view symbol) {
  if (!current_.is_symbol(symbol)) return false;
  take();
  return true;
}

bool TokenReader::take_name(std::string_view name) {
  if (!current_.is_name(name)) return false;
  take();
  return true;
}

Result<void> TokenReader::expect_symbol(std::string_view symbol) {
  if (take_symbol(symbol)) return {};
  return unexpected(fmt::format("'{}'", symbol));
}

Result<void> TokenReader::expect_name(std::string_view name) {
  if (take_name(name)) return {};
  return unexpected(fmt::format("'{}'", name));
}

Result<void> TokenReader::expect_type(Token::Type type, std::string_view what) {
  if (current_.type != type) return unexpected(what);
  take();
  return {};
}

Result<TextPtr> TokenReader::expect_identifier(std::string_view what) {
  if (current_.type != Token::Type::name) return unexpected(what);
  return make_name(take().text);
}

TextPtr TokenReader::make_name(std::string_view name) {
  return std::make_shared<const Text>(std::string(name), false, nullptr);
}

tl::unexpected<Error> TokenReader::error_at(Position position, ErrorCode code,
                                            const std::string& message) const {
  return fail(code, "{}: {}", describe_position(source_, position), message);
}

tl::unexpected<Error> TokenReader::unexpected(std::string_view wanted) const {
  if (current_.type == Token::Type::error) return tl::unexpected<Error>(lexer_.error());
  return error_at(current_.position, ErrorCode::corrupt_file,
                  fmt::format("expected {}, found {}", wanted, describe(current_)));
}

tl::unexpected<Error> TokenReader::too_deep(Position position) const {
  return error_at(position, ErrorCode::unsupported,
                  fmt::format("the template is nested deeper than the limit of {}", max_depth_));
}

}  // namespace parlance::jinja
