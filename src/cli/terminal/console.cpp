#include "cli/terminal/console.h"

#include <algorithm>
#include <cerrno>
#include <iostream>

#include "assistant/wording.h"
#include "base/os/environment.h"
#include "base/os/terminal.h"

namespace parlance {

namespace {

constexpr int kDefaultWidth = 80;
constexpr int kMinWidth = 40;

std::string_view escape_of(Style style) {
  switch (style) {
    case Style::bold:
      return "\x1b[1m";
    case Style::dim:
      return "\x1b[2m";
    case Style::green:
      return "\x1b[1;32m";
    case Style::yellow:
      return "\x1b[33m";
    case Style::red:
      return "\x1b[31m";
    case Style::plain:
      break;
  }
  return "";
}

std::string paint(bool has_colour, Style style, std::string_view text) {
  if (!has_colour || style == Style::plain || text.empty()) return std::string(text);
  return fmt::format("{}{}\x1b[0m", escape_of(style), text);
}

bool wants_colour() {
  return !environment("NO_COLOR") && environment("TERM").value_or("dumb") != "dumb";
}

}  // namespace

std::string Console::styled(Style style, std::string_view text) const {
  return paint(out_has_colour, style, text);
}

void Console::write(std::ostream& stream, std::string_view text) const {
  errno = 0;
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  note_output_error();
}

// The reason is known only right after the write that failed.
void Console::note_output_error() const {
  if (!out.good() && output_error == 0) output_error = errno;
}

void Console::note(std::string_view message) const {
  write(err, paint(err_has_colour, Style::dim, worded(message, Door::command_line)) + "\n");
  err.flush();
}

void Console::write_progress(std::string_view line) const {
  write(err, fmt::format("\r\x1b[K{}", line));
  err.flush();
}

void Console::warn(std::string_view message) const {
  write(err, fmt::format("parlance: {} {}\n", paint(err_has_colour, Style::yellow, "warning:"),
                         printable(worded(message, Door::command_line))));
  err.flush();
}

void Console::error(std::string_view message) const {
  write(err, fmt::format("{} {}\n", paint(err_has_colour, Style::red, "parlance:"),
                         printable(worded(message, Door::command_line))));
  err.flush();
}

bool Console::flush() const {
  errno = 0;
  out.flush();
  note_output_error();
  return out.good();
}

Console standard_console() {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  const bool colour = wants_colour();
  const bool out_is_terminal = is_terminal(StandardStream::out);
  const bool err_is_terminal = is_terminal(StandardStream::err);
  return {.in = std::cin,
          .out = std::cout,
          .err = std::cerr,
          .in_is_terminal = is_terminal(StandardStream::in),
          .out_is_terminal = out_is_terminal,
          .err_is_terminal = err_is_terminal,
          .out_has_colour = colour && out_is_terminal,
          .err_has_colour = colour && err_is_terminal,
          .width = std::max(terminal_columns().value_or(kDefaultWidth), kMinWidth)};
}

}  // namespace parlance
