// Whether what failed is worth another try, and the wait before it.
#pragma once

#include <string>

#include "base/result.h"
#include "hub/patience.h"
#include "hub/transport.h"

namespace parlance {

inline constexpr int kHttpOk = 200;

inline bool is_success(int status) {
  return status >= 200 && status < 300;
}

// A status that says that later may do: too many requests, and what is wrong with the server itself.
inline bool is_passing(int status) {
  return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

class TryAgain {
 public:
  TryAgain(std::string name, const Patience& patience, const Cancellation& cancellation)
      : name_(std::move(name)), patience_(patience), cancellation_(cancellation) {}

  // Something came: what failed before does not count any more.
  void note_progress() { n_failed_ = 0; }

  // Each returns when it is time to try again; the error says why there will be no other try.
  Result<void> after(int status, const FetchHead& head);
  Result<void> after(const FetchOutcome& outcome);  // not one that is complete
  Result<void> after(const std::string& reason);

 private:
  Result<void> wait(std::chrono::milliseconds time, const std::string& reason);

  const std::string name_;
  const Patience& patience_;
  const Cancellation& cancellation_;
  int n_failed_ = 0;  // in a row
};

}  // namespace parlance
