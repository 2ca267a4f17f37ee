#include <csignal>
#include <string>
#include <vector>

#include "cli/app.h"

int main(int argc, char** argv) {
  // A closed pipe and a file that may not grow are seen when writing fails, with words and after cleaning up.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  parlance::Console io = parlance::standard_console();
  return parlance::run_cli(arguments, io);
}
