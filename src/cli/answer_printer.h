// Shows an answer while it is made.
#pragma once

#include <string_view>

#include "cli/terminal/console.h"

namespace parlance {

class Session;

// On a terminal, control characters are kept off it and a model's thoughts (<think>…</think>) are dimmed;
// elsewhere the text passes as it is. When it can no longer be written, the session is cancelled.
class AnswerPrinter {
 public:
  AnswerPrinter(const Console& io, Session& session) : io_(io), session_(session) {}

  void operator()(std::string_view text);
  // Ends the line that the answer left open.
  void finish();

 private:
  const Console& io_;
  Session& session_;
  bool is_thought_ = false;
  bool is_at_line_start_ = true;
};

}  // namespace parlance
