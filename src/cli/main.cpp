#include <string>
#include <vector>

#include "base/os/signals.h"
#include "cli/app.h"
#include "cli/llama_server.h"

int main(int argc, char** argv) {
  parlance::let_writes_fail();
  const std::vector<std::string> arguments = parlance::arguments_by_name(
      argc > 0 ? argv[0] : "", std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  parlance::Console io = parlance::standard_console();
  return parlance::run_cli(arguments, io);
}
