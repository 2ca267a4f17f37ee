// Something that is to happen as soon as Ctrl-C comes, for work that has no place to notice it.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "cli/terminal/interrupt.h"

namespace parlance {

class InterruptWatch {
 public:
  explicit InterruptWatch(std::function<void()> on_interrupt)
      : watcher_([this, act = std::move(on_interrupt)](std::stop_token over) {
          while (!over.stop_requested() && !guard_.interrupted()) std::this_thread::sleep_for(kLook);
          if (guard_.interrupted()) act();
        }) {}

  bool interrupted() const { return guard_.interrupted(); }

 private:
  static constexpr auto kLook = std::chrono::milliseconds(20);

  InterruptGuard guard_{nullptr};
  std::jthread watcher_;  // ends before the guard
};

}  // namespace parlance
