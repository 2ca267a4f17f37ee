// Whoever waits for an evaluation: when it is to stop, and what is shown meanwhile.
#pragma once

#include <functional>
#include <string>

#include "base/cancellation.h"

namespace parlance {

struct EvalWatch {
  Cancellation cancellation = {};
  // A line that takes the place of the one before: "3/40  2 right". Empty: nobody looks.
  std::function<void(const std::string& line)> on_progress = {};

  template <class Line>
  void show(const Line& line) const {  // line() makes it
    if (on_progress) on_progress(line());
  }
};

}  // namespace parlance
