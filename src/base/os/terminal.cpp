#include "base/os/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace parlance {

bool is_terminal(StandardStream stream) {
  switch (stream) {
    case StandardStream::in:
      return ::isatty(STDIN_FILENO) == 1;
    case StandardStream::out:
      return ::isatty(STDOUT_FILENO) == 1;
    case StandardStream::err:
      return ::isatty(STDERR_FILENO) == 1;
  }
  return false;
}

std::optional<int> terminal_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace parlance
