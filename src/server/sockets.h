// What all who serve sockets have in common.
#pragma once

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>

namespace parlance {

// Before more sockets are accepted where the last could not be, as none is left to this process.
inline constexpr std::chrono::milliseconds kAcceptPause{50};
// Is read of a client that is refused, so that it sees why.
inline constexpr size_t kMostThrownAway = size_t{1} << 20;

// For co_await: what goes wrong is written into `error`.
inline auto await_with(boost::system::error_code& error) {
  return boost::asio::redirect_error(boost::asio::use_awaitable, error);
}

}  // namespace parlance
