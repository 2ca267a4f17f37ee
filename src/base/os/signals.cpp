#include "base/os/signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <vector>

namespace parlance {

namespace {

constexpr std::array kNumbers = {SIGINT, SIGTERM, SIGHUP};  // in the order of Signal

// By signal: what is called. Handlers may touch lock-free atomics only.
using OnSignal = void (*)();
std::array<std::atomic<OnSignal>, kNumbers.size()> on_signal{};
static_assert(std::atomic<OnSignal>::is_always_lock_free);

template <size_t index>
void handle(int) {
  if (const OnSignal call = on_signal[index].load()) call();
}

constexpr std::array<void (*)(int), kNumbers.size()> kHandlers = {handle<0>, handle<1>, handle<2>};

}  // namespace

struct SignalHandler::Saved {
  struct One {
    size_t signal;
    OnSignal call;
    struct sigaction action;
  };
  std::vector<One> before;
};

SignalHandler::SignalHandler(std::span<const Signal> signals, void (*call)(), SystemCalls calls)
    : saved_(std::make_unique<Saved>()) {
  saved_->before.reserve(signals.size());
  for (const Signal signal : signals) {
    const auto i = static_cast<size_t>(signal);
    Saved::One& before = saved_->before.emplace_back();
    before.signal = i;
    before.call = on_signal[i].exchange(call);
    struct sigaction action {};
    action.sa_handler = kHandlers[i];
    action.sa_flags = calls == SystemCalls::go_on ? SA_RESTART : 0;
    sigemptyset(&action.sa_mask);
    ::sigaction(kNumbers[i], &action, &before.action);
  }
}

SignalHandler::~SignalHandler() {
  for (size_t i = saved_->before.size(); i-- > 0;) {
    const Saved::One& before = saved_->before[i];
    ::sigaction(kNumbers[before.signal], &before.action, nullptr);
    on_signal[before.signal] = before.call;
  }
}

void let_writes_fail() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void end_at_once(int exit_code) {
  ::_exit(exit_code);
}

}  // namespace parlance
