#include "cli/terminal/interrupt.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>

#include "cli/terminal/console.h"
#include "engine/session.h"

namespace parlance {

namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// What the handler may touch: lock-free atomics only.
std::atomic<Session*> target{nullptr};
std::atomic<int> n_interrupts{0};
std::atomic<bool> second_ends_program{false};
static_assert(std::atomic<Session*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int) {
  if (n_interrupts.fetch_add(1) > 0 && second_ends_program.load()) ::_exit(kInterrupted);
  if (Session* session = target.load()) session->cancel();
}

}  // namespace

struct InterruptGuard::Saved {
  std::array<struct sigaction, kSignals.size()> actions;
};

InterruptGuard::InterruptGuard(Session* session, SecondInterrupt second) : saved_(std::make_unique<Saved>()) {
  target = session;
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
