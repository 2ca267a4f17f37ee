// Signals: what people and other programs tell the process.
#pragma once

#include <memory>
#include <span>

namespace parlance {

enum class Signal {
  interrupt,  // Ctrl-C
  terminate,
  hang_up,  // the terminal was closed
};

// As long as it lives, the signals call a function instead of ending the program; then what was before is
// again. Inner ones go before outer ones. The function runs in the middle of anything: it may touch nothing
// but lock-free atomics, and call end_at_once().
class SignalHandler {
 public:
  enum class SystemCalls { go_on, end };  // those that a signal comes into, such as reading a key

  SignalHandler(std::span<const Signal> signals, void (*on_signal)(), SystemCalls calls);
  ~SignalHandler();
  SignalHandler(const SignalHandler&) = delete;
  SignalHandler& operator=(const SignalHandler&) = delete;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

// A closed pipe and a file that may not grow are seen from now on when writing fails, with words and after
// cleaning up, instead of ending the program.
void let_writes_fail();

// Ends the program with an exit code and runs nothing more of it.
[[noreturn]] void end_at_once(int exit_code);

}  // namespace parlance
