// What one connection of the Wyoming protocol asks for, in its order: hears, speaks, answers. Lives on the
// connection's thread and never waits; what takes long runs on threads beside it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "wyoming/job_port.h"

namespace parlance {

// A thread for each thing that is being done; the end waits for all of them.
class JobThreads {
 public:
  ~JobThreads() { wait(); }
  void start(std::function<void()> job);
  void wait();  // until all that was started has ended

 private:
  std::mutex mutex_;
  std::condition_variable has_ended_;
  int n_running_ = 0;
};

// What can be asked for. Called on a thread of its own, and may wait; events of the request's input come
// through the port. The first event begins the request. Errors end the connection.
struct WyomingServices {
  using Service = std::function<Result<void>(const WyomingEvent& first, JobPort& port)>;
  std::function<std::string()> info;  // bytes of the event, ready
  Service hear;                       // audio-start with what "transcribe" said before; then audio-chunk
  Service speak;                      // synthesize
  Service speak_along;                // synthesize-start; then synthesize-chunk
  Service answer;                     // transcript
};

class WyomingSession : public std::enable_shared_from_this<WyomingSession> {
 public:
  static constexpr size_t kMostWaiting = 4;              // requests beside the one at work
  static constexpr size_t kMuchInput = size_t{4} << 20;  // that a request has not come to

  // Both must outlive what the session has begun: threads end before services.
  WyomingSession(std::shared_ptr<WyomingSink> sink, const WyomingServices& services, JobThreads& threads)
      : sink_(std::move(sink)), services_(services), threads_(threads) {}

  void take(WyomingEvent event);
  // Tells what is wrong, where the client can know it, and closes.
  void fail(const Error& error, bool is_told = true);
  // The client sends nothing more: what it has asked for is finished.
  void end_input();
  // It is gone.
  void cut();

  // Whether more should be read now; else when `on_room` was called.
  bool wants_more() const;
  bool is_within_input() const { return sound_ || text_; }  // of a request
  bool is_at_work() const { return !jobs_.empty(); }
  bool is_over() const { return is_over_; }
  // Is called, on any thread, when wants_more() may have become true.
  void when_room(std::function<void()> on_room) { on_room_ = std::move(on_room); }

 private:
  struct Job {
    const WyomingServices::Service& service;
    WyomingEvent first;
    std::shared_ptr<JobPort> port;
  };

  std::shared_ptr<JobPort> begin(const WyomingServices::Service& service, WyomingEvent first, bool has_input);
  void run_next();
  void finish(const Result<void>& result);
  void send(const WyomingEvent& event) { sink_->send(wyoming_bytes(event)); }

  const std::shared_ptr<WyomingSink> sink_;
  const WyomingServices& services_;
  JobThreads& threads_;
  std::function<void()> on_room_ = [] {};

  std::deque<Job> jobs_;                   // the first one is at work
  std::shared_ptr<JobPort> sound_, text_;  // whose input is open
  Json asked_ = Json::object();            // by "transcribe", of what will be heard
  bool has_ended_ = false;                 // the client sends nothing more
  bool is_over_ = false;
};

}  // namespace parlance
