// Shows an answer while it is made.
#pragma once

#include <string_view>

#include "cli/terminal/console.h"
#include "cli/terminal/interrupt.h"

namespace parlance {

// On a terminal, control characters are kept off it and a model's thoughts (<think>…</think>) are dimmed;
// elsewhere the text passes as it is. When it can no longer be written, the work is cancelled.
class AnswerPrinter {
 public:
  AnswerPrinter(const Console& io, const InterruptGuard& work) : io_(io), work_(work) {}

  void operator()(std::string_view text);
  // Ends the line that the answer left open.
  void finish();

 private:
  const Console& io_;
  const InterruptGuard& work_;
  bool is_thought_ = false;
  bool is_at_line_start_ = true;
};

}  // namespace parlance
