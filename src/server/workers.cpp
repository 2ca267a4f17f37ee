#include "server/workers.h"

#include "base/os/thread.h"

namespace parlance {

Workers::Workers(const std::string& name, int n_threads, size_t n_waiting) : n_most_(n_waiting) {
  for (int i = 0; i < n_threads; ++i) {
    threads_.emplace_back([this] { run(); });
    name_thread(threads_.back(), name);
  }
}

void Workers::stop() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    dropped.swap(jobs_);
  }
  join();
}

void Workers::finish() {
  {
    const std::lock_guard lock(mutex_);
    is_finishing_ = true;
  }
  join();
  stop();
}

void Workers::join() {
  has_jobs_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Workers::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (is_over_ || jobs_.size() >= n_most_) return false;
    jobs_.push_back(std::move(job));
  }
  has_jobs_.notify_one();
  return true;
}

size_t Workers::n_waiting() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

void Workers::run() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      has_jobs_.wait(lock, [&] { return is_over_ || is_finishing_ || !jobs_.empty(); });
      if (is_over_ || jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace parlance
