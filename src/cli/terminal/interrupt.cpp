#include "cli/terminal/interrupt.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>

#include "cli/terminal/console.h"

namespace parlance {

namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// What the handler may touch: lock-free atomics only.
std::atomic<const CancellationSource*> target{nullptr};
std::atomic<int> n_interrupts{0};
std::atomic<bool> second_ends_program{false};
static_assert(std::atomic<const CancellationSource*>::is_always_lock_free &&
              std::atomic<int>::is_always_lock_free);

void on_signal(int) {
  if (n_interrupts.fetch_add(1) > 0 && second_ends_program.load()) ::_exit(kInterrupted);
  if (const CancellationSource* source = target.load()) source->cancel();
}

}  // namespace

struct InterruptGuard::Saved {
  std::array<struct sigaction, kSignals.size()> actions;
};

InterruptGuard::InterruptGuard(SecondInterrupt second) : saved_(std::make_unique<Saved>()) {
  target = &source_;
  n_interrupts = 0;
  second_ends_program = second == SecondInterrupt::ends_program;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &saved_->actions[i]);
}

InterruptGuard::~InterruptGuard() {
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &saved_->actions[i], nullptr);
  target = nullptr;
}

bool InterruptGuard::interrupted() const {
  return n_interrupts.load() > 0;
}

}  // namespace parlance
