// Between a connection, which hands in events as they come, and the thread that does what they ask for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/cancellation.h"
#include "wyoming/frames.h"

namespace parlance {

// The way back to a client. From any thread; what is sent leaves in order.
class WyomingSink {
 public:
  virtual ~WyomingSink() = default;
  virtual void send(std::string bytes) = 0;
  virtual void close() = 0;             // behind what was sent
  virtual size_t n_unsent() const = 0;  // bytes
  // Is called once, when there are few of them or the client has gone; must not wait.
  virtual void when_taken(std::function<void()> on_taken) = 0;
  // Has it called on the connection's thread, on which the session lives.
  virtual void post(std::function<void()> call) = 0;
};

class JobPort {
 public:
  using Clock = std::chrono::steady_clock;

  // `on_room` is called by the job when it has taken what was handed in.
  JobPort(std::shared_ptr<WyomingSink> sink, std::function<void()> on_room)
      : sink_(std::move(sink)), on_room_(std::move(on_room)) {}

  // ---- By the job ----

  // The next event; waits for it, until `time` at most. None: it is late, nothing more will come, or nobody
  // wants it.
  std::optional<WyomingEvent> next(std::optional<Clock::time_point> time = {});
  bool has_ended() const;  // nothing more will come, and all of it was taken
  // Waits for a client that reads slowly. False: nobody wants it.
  bool send(const WyomingEvent& event);
  const Cancellation& ticket() const { return ticket_; }

  // ---- By the session ----

  void give(WyomingEvent event);
  void end();  // nothing more will come
  void cancel();
  size_t n_bytes() const;  // that the job has not come to

 private:
  static constexpr size_t kMostUnsent = size_t{256} << 10;

  const std::shared_ptr<WyomingSink> sink_;
  const std::function<void()> on_room_;
  const CancellationSource source_;
  const Cancellation ticket_ = source_.ticket();

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable has_news_;
  std::deque<WyomingEvent> events_;
  size_t n_bytes_ = 0;
  bool is_over_ = false, is_taken_ = false;
};

}  // namespace parlance
