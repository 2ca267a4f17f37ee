#include "hub/try_again.h"

namespace parlance {

using std::chrono::milliseconds;
using std::chrono::seconds;

Result<void> TryAgain::after(int status, const FetchHead& head) {
  const auto now = std::chrono::floor<seconds>(std::chrono::system_clock::now());
  const auto asked = retry_after(head.field("retry-after"), now);
  const std::string reason =
      status == 429 ? "the server has too many requests (HTTP 429)" : fmt::format("HTTP {}", status);
  if (!asked) return after(reason);
  if (*asked > patience_.longest_wait) {
    return fail(ErrorCode::busy,
                "{}: {}, and asks to wait {} minutes; call again then, what has come is kept", name_, reason,
                std::chrono::ceil<std::chrono::minutes>(*asked).count());
  }
  if (++n_failed_ > patience_.n_retries) {
    return fail(ErrorCode::busy, "{}: {}, still after {} tries; call again later, what has come is kept",
                name_, reason, n_failed_);
  }
  return wait(*asked, reason);
}

Result<void> TryAgain::after(const FetchOutcome& outcome) {
  if (outcome.end == FetchEnd::cancelled) {
    return fail(ErrorCode::cancelled, "{}: stopped; call again to go on, what has come is kept", name_);
  }
  if (outcome.end == FetchEnd::impossible) {
    return fail(ErrorCode::io, "{}: {}; check the address and the connection", name_, outcome.reason);
  }
  return after(outcome.reason);
}

Result<void> TryAgain::after(const std::string& reason) {
  if (++n_failed_ > patience_.n_retries) {
    return fail(ErrorCode::io, "{}: {}, still after {} tries; call again later, what has come is kept", name_,
                reason, n_failed_);
  }
  // At once where it went well until now: most cuts pass.
  if (n_failed_ == 1) return wait(milliseconds(0), reason);
  return wait(std::min<milliseconds>(patience_.first_wait * (1 << std::min(n_failed_ - 2, 16)),
                                     patience_.longest_wait),
              reason);
}

Result<void> TryAgain::wait(milliseconds time, const std::string& reason) {
  if (patience_.on_wait && time > time.zero()) patience_.on_wait(time, reason);
  if (wait_for(time, cancellation_)) return {};
  return fail(ErrorCode::cancelled, "{}: stopped; call again to go on, what has come is kept", name_);
}

}  // namespace parlance
