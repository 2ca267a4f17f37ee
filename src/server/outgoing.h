// An answer on its way from those who make it, on any thread, to the connection that sends it.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/cancellation.h"
#include "server/http_message.h"
#include "server/unsent.h"

namespace parlance {

struct Outgoing {
  // Of the listener's thread.
  std::deque<std::string> pieces;
  std::optional<HttpAnswer> head;  // until it was sent
  bool is_whole = false;           // the head has all of the body
  bool has_ended = false, is_broken = false;

  CancellationSource source;
  Cancellation ticket = source.ticket();
  std::atomic<std::chrono::steady_clock::time_point>
      left_at{};  // the client; before the clock began: not yet
  Unsent unsent;  // bytes of the body
  std::mutex left_mutex;
  std::function<void()> on_left;  // under its lock

  // The client has gone.
  void leave();
  // Is called when it goes, or now.
  void when_left(std::function<void()> on_left);

  // Calls whoever waits for the client to take what was written, where it has or `at_any_rate`.
  void tell(bool at_any_rate) { unsent.tell(Reply::kLittleUnsent, at_any_rate); }
};

// The way there. Changes are made on the listener's thread, in their order; `on_change` is called there after
// each. The thread may end before those who make the answer do.
std::shared_ptr<Reply> make_reply(std::shared_ptr<boost::asio::io_context> io,
                                  std::shared_ptr<Outgoing> outgoing, std::function<void()> on_change);

}  // namespace parlance
