#include "realtime/strands.h"

#include <utility>

namespace parlance {

struct Strand::Core {
  std::mutex mutex;
  std::condition_variable has_work;
  std::deque<std::shared_ptr<Strand>> ready;
  std::multimap<Clock::time_point, std::weak_ptr<Strand>> due;
  bool is_over = false;

  void run();
};

void Strand::queue() {
  if (std::exchange(is_queued_, true)) return;
  core_->ready.push_back(shared_from_this());
  core_->has_work.notify_one();
}

void Strand::post(Job job) {
  const std::lock_guard lock(core_->mutex);
  if (core_->is_over) return;
  jobs_.push_back(std::move(job));
  queue();
}

void Strand::wake_at(std::optional<Clock::time_point> time, Job job) {
  Job before;  // goes when the lock is free
  const std::lock_guard lock(core_->mutex);
  if (core_->is_over) return;
  before = std::exchange(due_job_, std::move(job));
  if (std::exchange(due_, time) == time || !time) return;
  const bool is_first = core_->due.empty() || *time < core_->due.begin()->first;
  core_->due.emplace(*time, weak_from_this());
  if (is_first) core_->has_work.notify_one();
}

void Strand::Core::run() {
  std::unique_lock lock(mutex);
  while (!is_over) {
    const auto now = Clock::now();
    while (!due.empty() && due.begin()->first <= now) {
      const auto time = due.begin()->first;
      const auto strand = due.begin()->second.lock();
      due.erase(due.begin());
      if (!strand || strand->due_ != time) continue;  // it wants to be woken at another time
      strand->due_.reset();
      strand->jobs_.push_back(std::exchange(strand->due_job_, {}));
      strand->queue();
    }
    if (ready.empty()) {
      if (due.empty()) {
        has_work.wait(lock);
      } else {
        const auto first = due.begin()->first;  // of its own: others take it from there meanwhile
        has_work.wait_until(lock, first);
      }
      continue;
    }
    const auto strand = std::move(ready.front());
    ready.pop_front();
    std::deque<Job> jobs = std::exchange(strand->jobs_, {});
    if (!ready.empty()) has_work.notify_one();
    lock.unlock();
    for (Job& job : jobs) job();
    jobs.clear();
    lock.lock();
    strand->is_queued_ = false;
    if (!strand->jobs_.empty()) strand->queue();
  }
}

Strands::Strands(int n_threads) : core_(std::make_shared<Strand::Core>()) {
  for (int i = 0; i < n_threads; ++i) threads_.emplace_back([core = core_] { core->run(); });
}

std::shared_ptr<Strand> Strands::make() {
  return std::shared_ptr<Strand>(new Strand(core_));
}

void Strands::stop() {
  {
    const std::lock_guard lock(core_->mutex);
    core_->is_over = true;
    core_->has_work.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  // Only now: a strand whose job was running became ready again by what was posted to it meanwhile.
  std::vector<std::deque<Strand::Job>> dropped;  // go when the lock is free
  std::deque<std::shared_ptr<Strand>> ready;
  const std::lock_guard lock(core_->mutex);
  ready.swap(core_->ready);
  for (const auto& strand : ready) dropped.push_back(std::exchange(strand->jobs_, {}));
}

}  // namespace parlance
