// How often something is tried again, and after how long.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/cancellation.h"

namespace parlance {

struct Patience {
  int n_retries = 5;                           // without a byte more than before
  std::chrono::milliseconds first_wait{1000};  // doubled from one to the next
  std::chrono::seconds longest_wait{120};      // what a server asks for beyond that is for people to decide
  // Told of each wait before it begins; null: nobody is.
  std::function<void(std::chrono::milliseconds wait, const std::string& reason)> on_wait = {};
};

// What a head's field Retry-After asks for: seconds, or a moment in the form of HTTP. None: it says nothing.
std::optional<std::chrono::seconds> retry_after(std::string_view field, std::chrono::sys_seconds now);

// False: the work was cancelled meanwhile.
bool wait_for(std::chrono::milliseconds time, const Cancellation& cancellation);

}  // namespace parlance
