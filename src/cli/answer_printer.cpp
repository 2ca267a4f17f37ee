#include "cli/answer_printer.h"

#include <algorithm>

namespace parlance {

namespace {

constexpr std::string_view kThinkBegin = "<think>";
constexpr std::string_view kThinkEnd = "</think>";

}  // namespace

void AnswerPrinter::operator()(std::string_view text) {
  if (text.empty()) return;
  is_at_line_start_ = text.ends_with('\n');
  if (!io_.out_is_terminal) {
    io_.write(text);
  } else {
    // The marks are tokens of their own in models that think, so that they come in one piece.
    while (!text.empty()) {
      const std::string_view mark = is_thought_ ? kThinkEnd : kThinkBegin;
      const size_t found = text.find(mark);
      const bool has_mark = found != std::string_view::npos;
      const size_t end = !has_mark ? text.size() : is_thought_ ? found + mark.size() : found;
      io_.write(
          io_.styled(is_thought_ ? Style::dim : Style::plain, printable(text.substr(0, end), Lines::many)));
      text.remove_prefix(end);
      if (has_mark) is_thought_ = !is_thought_;
    }
  }
  if (!io_.flush()) work_.cancel();
}

void AnswerPrinter::finish() {
  if (!is_at_line_start_) io_.write("\n");
  io_.flush();
}

}  // namespace parlance
