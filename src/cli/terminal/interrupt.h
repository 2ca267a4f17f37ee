// Ctrl-C while the program is at work.
#pragma once

#include <memory>

#include "base/cancellation.h"

namespace parlance {

class SignalHandler;

// What a second Ctrl-C does while the first is still being answered.
enum class SecondInterrupt {
  ends_program,  // at once, with exit code 130
  waits,         // for the work to clean up after itself
};

// As long as it lives, an interrupt (Ctrl-C, and a request to terminate or a closed terminal) is noted and
// cancels the work instead of ending the program. One at a time.
class InterruptGuard {
 public:
  explicit InterruptGuard(SecondInterrupt second = SecondInterrupt::ends_program);
  // A second one ends the program at once with this code.
  explicit InterruptGuard(int second_exit_code);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // Of the work, from when the guard was made: what computes for it ends with an interrupt.
  const Cancellation& ticket() const { return ticket_; }
  // Ends it for another reason.
  void cancel() const { source_.cancel(); }

  // Whether an interrupt came since the guard was made.
  bool interrupted() const;

 private:
  const CancellationSource source_;
  const Cancellation ticket_ = source_.ticket();
  std::unique_ptr<SignalHandler> handler_;
};

}  // namespace parlance
