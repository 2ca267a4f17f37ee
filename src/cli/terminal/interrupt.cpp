#include "cli/terminal/interrupt.h"

#include <array>
#include <atomic>

#include "base/os/signals.h"
#include "cli/terminal/console.h"

namespace parlance {

namespace {

constexpr std::array kSignals = {Signal::interrupt, Signal::terminate, Signal::hang_up};

// What the handler may touch: lock-free atomics only.
std::atomic<const CancellationSource*> target{nullptr};
std::atomic<int> n_interrupts{0};
std::atomic<bool> second_ends_program{false};
static_assert(std::atomic<const CancellationSource*>::is_always_lock_free &&
              std::atomic<int>::is_always_lock_free);

void on_signal() {
  if (n_interrupts.fetch_add(1) > 0 && second_ends_program.load()) end_at_once(kInterrupted);
  if (const CancellationSource* source = target.load()) source->cancel();
}

}  // namespace

InterruptGuard::InterruptGuard(SecondInterrupt second) {
  target = &source_;
  n_interrupts = 0;
  second_ends_program = second == SecondInterrupt::ends_program;
  handler_ = std::make_unique<SignalHandler>(kSignals, on_signal, SignalHandler::SystemCalls::go_on);
}

InterruptGuard::~InterruptGuard() {
  handler_.reset();
  target = nullptr;
}

bool InterruptGuard::interrupted() const {
  return n_interrupts.load() > 0;
}

}  // namespace parlance
