// The tokens of a template one after the other, with one of lookahead, and the errors that a parser words.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "jinja/lexer.h"
#include "jinja/template.h"
#include "jinja/value.h"

namespace parlance::jinja {

class TokenReader {
 protected:
  TokenReader(std::string_view source, const TemplateLimits& limits);

  Token take();
  bool take_symbol(std::string_view symbol);
  bool take_name(std::string_view name);
  Result<void> expect_symbol(std::string_view symbol);
  Result<void> expect_name(std::string_view name);
  Result<void> expect_type(Token::Type type, std::string_view what);
  Result<TextPtr> expect_identifier(std::string_view what);
  static TextPtr make_name(std::string_view name);

  tl::unexpected<Error> error_at(Position position, ErrorCode code, const std::string& message) const;
  // The current token is not what could stand here.
  tl::unexpected<Error> unexpected(std::string_view wanted) const;
  tl::unexpected<Error> too_deep(Position position) const;

  // Counts the recursion of the parser itself.
  class Nesting {
   public:
    explicit Nesting(TokenReader& reader) : depth_(reader.depth_) { ++depth_; }
    ~Nesting() { --depth_; }

   private:
    size_t& depth_;
  };

  const std::string_view source_;
  const size_t max_depth_;
  size_t depth_ = 0;
  Token current_, following_;

 private:
  Lexer lexer_;
};

}  // namespace parlance::jinja
