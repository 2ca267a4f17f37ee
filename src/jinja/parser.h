// Template text to statements.
#pragma once

#include <string>

#include "base/result.h"
#include "jinja/ast.h"
#include "jinja/template.h"

namespace parlance::jinja {

// Statements hold views into the source, which therefore does not move.
struct Program {
  std::string source;
  ast::Block body;
};

// An error names line and column, what stands there and what could. Tags and operators that this interpreter
// lacks are errors of code `unsupported`.
Result<std::unique_ptr<const Program>> parse(std::string_view source, const TemplateLimits& limits);

}  // namespace parlance::jinja
