#include "server/call_queue.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace parlance {

void CallQueue::post(boost::asio::io_context& io, std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(call));
  if (calls_.size() == 1) boost::asio::post(io, [self = shared_from_this()] { self->run(); });
}

void CallQueue::run() {
  std::deque<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(calls_);
  }
  for (const auto& call : calls) call();
}

}  // namespace parlance
