// Calls from any thread to the one of an io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace parlance {

// They are made in the order in which they came, whoever they came from. Asio's post() alone does not keep
// it: what is posted on that thread waits there until the handler has ended that it is posted by, and what
// others post meanwhile goes before it.
class CallQueue : public std::enable_shared_from_this<CallQueue> {
 public:
  // Always with the same context, which may end before the call is made: it is dropped then.
  void post(boost::asio::io_context& io, std::function<void()> call);

 private:
  void run();

  std::mutex mutex_;
  std::deque<std::function<void()>> calls_;
};

}  // namespace parlance
