// What people see of a model on its way here.
#pragma once

#include <chrono>
#include <deque>
#include <string>

#include "cli/terminal/console.h"
#include "hub/pull.h"

namespace parlance {

// At a terminal a line that is written over: how much, how fast, how long still. Elsewhere a line when a file
// begins. All on standard error.
class PullView {
 public:
  using Clock = std::chrono::steady_clock;

  explicit PullView(const Console& io) : io_(io) {}
  ~PullView() { clear(); }
  PullView(const PullView&) = delete;
  PullView& operator=(const PullView&) = delete;

  void show(const PullProgress& progress) { show(progress, Clock::now()); }
  void show(const PullProgress& progress, Clock::time_point now);
  void say(const std::string& news);
  void clear();

  // Options that tell this view; it must outlive what they are used for.
  PullOptions options();

 private:
  struct Sample {
    Clock::time_point at;
    uint64_t bytes;
  };
  double speed() const;  // bytes a second, of the last seconds

  const Console& io_;
  std::deque<Sample> samples_;
  std::string path_;  // of the file that is shown
  Clock::time_point shown_at_ = {};
  bool is_shown_ = false;
};

// "0:31", "2:03:10"
std::string clock_text(double seconds);

}  // namespace parlance
