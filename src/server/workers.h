// Threads that take jobs in order, so that the listener's thread never computes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace parlance {

class Workers {
 public:
  Workers(const std::string& name, int n_threads, size_t n_waiting);
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Jobs that wait are dropped; waits for those that run. Nothing is taken any more.
  void stop();
  // The same behind all jobs that wait, and those that they post.
  void finish();

  // False, and nothing is done, when as many wait as may.
  bool post(std::function<void()> job);
  size_t n_waiting() const;

 private:
  void run();
  void join();

  const size_t n_most_;
  mutable std::mutex mutex_;
  std::condition_variable has_jobs_;
  std::deque<std::function<void()>> jobs_;
  bool is_finishing_ = false, is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace parlance
