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
constexpr int kWaits = -1;
std::atomic<int> second_exit_code{kWaits};
static_assert(std::atomic<const CancellationSource*>::is_always_lock_free &&
              std::atomic<int>::is_always_lock_free);

void on_signal() {
  const int exit_code = second_exit_code.load();
  if (n_interrupts.fetch_add(1) > 0 && exit_code != kWaits) end_at_once(exit_code);
  if (const CancellationSource* source = target.load()) source->cancel();
}

}  // namespace

InterruptGuard::InterruptGuard(SecondInterrupt second)
    : InterruptGuard(second == SecondInterrupt::ends_program ? kInterrupted : kWaits) {}

InterruptGuard::InterruptGuard(int exit_code) {
  target = &source_;
  n_interrupts = 0;
  second_exit_code = exit_code;
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
