#include "engine/turns.h"

#include <chrono>

namespace parlance {

namespace {

// How often it is looked whether something can be done, where nobody may tell.
constexpr std::chrono::milliseconds kLook{2};

}  // namespace

void Turns::wake() {
  {
    const std::lock_guard lock(mutex_);
    ++n_wakes_;
  }
  changed_.notify_all();
}

void Turns::wait(FunctionRef<bool()> is_over) {
  for (;;) {
    uint64_t n_known;
    {
      const std::lock_guard lock(mutex_);
      n_known = n_wakes_;
    }
    if (is_over()) return;
    std::unique_lock lock(mutex_);
    if (is_taken_ || n_pausing_ > 0 || thread_.joinable()) {
      changed_.wait(lock, [&] { return n_wakes_ != n_known; });
      continue;
    }
    is_taken_ = true;
    lock.unlock();
    const Progress progress = take_turn_();
    lock.lock();
    is_taken_ = false;
    ++n_wakes_;
    n_known = n_wakes_;
    changed_.notify_all();
    if (progress != Progress::made) changed_.wait_for(lock, kLook, [&] { return n_wakes_ != n_known; });
  }
}

void Turns::start() {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run_thread(); });
}

void Turns::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    ++n_wakes_;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Turns::run_thread() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    if (is_taken_ || n_pausing_ > 0) {  // by who began before there was a thread, or wants a pause
      changed_.wait(lock);
      continue;
    }
    const uint64_t n_known = n_wakes_;
    is_taken_ = true;
    lock.unlock();
    const Progress progress = take_turn_();
    lock.lock();
    is_taken_ = false;
    if (progress == Progress::made) {
      ++n_wakes_;
      changed_.notify_all();
      continue;
    }
    changed_.notify_all();
    const auto has_news = [&] { return n_wakes_ != n_known || is_stopping_; };
    if (progress == Progress::idle) {
      changed_.wait(lock, has_news);
    } else {
      changed_.wait_for(lock, kLook, has_news);
    }
  }
}

void Turns::pause() {
  std::unique_lock lock(mutex_);
  ++n_pausing_;
  changed_.wait(lock, [&] { return !is_taken_; });
  --n_pausing_;
  is_taken_ = true;
}

void Turns::resume() {
  {
    const std::lock_guard lock(mutex_);
    is_taken_ = false;
    ++n_wakes_;
  }
  changed_.notify_all();
}

}  // namespace parlance
