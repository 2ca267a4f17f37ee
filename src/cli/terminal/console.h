// Where the program's words go: results to `out`, messages to the person to `err`.
#pragma once

#include <fmt/core.h>

#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

#include "text/display.h"

namespace parlance {

// What a run of the program says of itself to the shell.
enum ExitCode : int {
  kSuccess = 0,
  kFailure = 1,        // something went wrong while running
  kUsage = 2,          // the command line itself cannot be used
  kInterrupted = 130,  // Ctrl-C
};

enum class Style { plain, bold, dim, green, yellow, red };

struct Console {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool out_has_colour = false;
  bool err_has_colour = false;
  int width = 80;  // columns of the terminal, for help texts and tables

  // Text for `out` in a style, where that is a terminal with colours.
  std::string styled(Style style, std::string_view text) const;

  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) const {
    write(out, fmt::format(format, std::forward<Args>(args)...));
  }
  void write(std::string_view text) const { write(out, text); }

  // What follows names parameters of messages as this program's flags.

  // A remark on `err` that is part of the conversation with the person, dimmed on a terminal.
  void note(std::string_view message) const;
  // A line on `err` that the next one is written over, for work that takes a while. An empty one clears it.
  void write_progress(std::string_view line) const;
  // "parlance: warning: …" and "parlance: …", one line each on `err`.
  void warn(std::string_view message) const;
  void error(std::string_view message) const;

  // Sends what was printed on its way. False when `out` could not take it; output_error is then the system's
  // reason, if it gave one.
  bool flush() const;
  mutable int output_error = 0;

 private:
  void write(std::ostream& stream, std::string_view text) const;
  void note_output_error() const;
};

// The process's own standard streams: what is a terminal, how wide it is, and whether colours are wanted (not
// with NO_COLOR, TERM=dumb or a pipe).
Console standard_console();

}  // namespace parlance
