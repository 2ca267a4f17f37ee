// Short forms for tests of templates.
#pragma once

#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "jinja/template.h"

namespace parlance::test {

// The text that a template renders to; a failure of the running test, and the error's message, when it does
// not.
inline std::string rendered(std::string_view source, std::string_view variables = "{}",
                            const TemplateLimits& limits = {}, int64_t now_unix_s = 0) {
  const auto parsed = ChatTemplate::parse(source, limits);
  if (!parsed) {
    ADD_FAILURE() << source << "\n" << parsed.error().message;
    return parsed.error().message;
  }
  const auto text = parsed->render(variables, now_unix_s);
  if (!text) {
    ADD_FAILURE() << source << "\n" << text.error().message;
    return text.error().message;
  }
  return *text;
}

// The error of parsing or rendering; a failure of the running test when there is none.
inline Error error_of(std::string_view source, std::string_view variables = "{}",
                      const TemplateLimits& limits = {}, int64_t now_unix_s = 0) {
  const auto parsed = ChatTemplate::parse(source, limits);
  if (!parsed) return parsed.error();
  const auto text = parsed->render(variables, now_unix_s);
  if (!text) return text.error();
  ADD_FAILURE() << source << "\nrenders as " << *text;
  return {ErrorCode::not_found, "no error"};
}

}  // namespace parlance::test
