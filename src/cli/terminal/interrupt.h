// Ctrl-C while the program is at work.
#pragma once

#include <memory>

namespace parlance {

class Session;

// What a second Ctrl-C does while the first is still being answered.
enum class SecondInterrupt {
  ends_program,  // at once, with exit code 130
  waits,         // for the work to clean up after itself
};

// As long as it lives, an interrupt (Ctrl-C, and a request to terminate or a closed terminal) is noted and
// cancels the session instead of ending the program. One at a time.
class InterruptGuard {
 public:
  explicit InterruptGuard(Session* session, SecondInterrupt second = SecondInterrupt::ends_program);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // Whether an interrupt came since the guard was made.
  bool interrupted() const;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace parlance
