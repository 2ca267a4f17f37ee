// An evaluation that a person waits for: Ctrl-C stops it, and a line on the terminal says how far it is.
#pragma once

#include "cli/terminal/console.h"
#include "cli/terminal/interrupt.h"
#include "eval/watch.h"

namespace parlance {

class EvalAtWork {
 public:
  explicit EvalAtWork(const Console& io) : io_(io) {}
  ~EvalAtWork() {
    if (io_.err_is_terminal) io_.write_progress("");
  }
  EvalAtWork(const EvalAtWork&) = delete;
  EvalAtWork& operator=(const EvalAtWork&) = delete;

  EvalWatch watch() const {
    EvalWatch watch{.cancellation = guard_.ticket()};
    if (io_.err_is_terminal)
      watch.on_progress = [&io = io_](const std::string& line) { io.write_progress(line); };
    return watch;
  }

 private:
  const Console& io_;
  const InterruptGuard guard_;
};

}  // namespace parlance
