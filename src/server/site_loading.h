// What goes on beside the requests of a server: its models are loaded, other doors open, and a clock ticks.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/result.h"
#include "server/site.h"
#include "server/wyoming_door.h"

namespace parlance {

class SiteLoading {
 public:
  // Begins at once. The site outlives it.
  explicit SiteLoading(Site& site);
  ~SiteLoading() { end(); }

  // Until the language model answers. Errors: of whatever could not be loaded.
  Result<void> wait_until_ready();
  // Nothing new is begun over other doors.
  void drain();
  // No more is loaded, and the clock stops.
  void end();
  void close_doors() { wyoming_.reset(); }

 private:
  Result<void> load();
  void tell_start();
  Result<void> open_wyoming();
  void make_mouth_ready();
  void run_loader();
  void run_clock();

  Site& site_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::optional<Result<void>> loaded_;  // once it is decided
  bool is_over_ = false;
  WyomingServices wyoming_services_;
  std::unique_ptr<WyomingDoor> wyoming_;  // opens last
  std::thread loader_, clock_;
};

}  // namespace parlance
