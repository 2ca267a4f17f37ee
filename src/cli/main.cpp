#include <csignal>
#include <string>
#include <vector>

#include "cli/app.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is seen when writing to it fails
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  parlance::Console io = parlance::standard_console();
  return parlance::run_cli(arguments, io);
}
