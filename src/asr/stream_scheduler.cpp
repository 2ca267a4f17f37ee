#include "asr/stream_scheduler.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace parlance {

namespace {

// Whoever feeds wakes a thread here, which may take the feeder's processor: it gives it back for so long,
// unless somebody waits for a text.
constexpr std::chrono::microseconds kFeederFirst{500};

}  // namespace

void StreamScheduler::add(std::shared_ptr<StreamState> stream) {
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return;
  streams_.push_back({std::move(stream)});
  if (threads_.size() < std::min(most_threads_, streams_.size())) threads_.emplace_back([this] { run(); });
}

void StreamScheduler::remove(const std::shared_ptr<StreamState>& stream) {
  const std::lock_guard lock(mutex_);
  streams_.remove_if([&](const Entry& entry) { return entry.stream == stream; });
}

void StreamScheduler::wake() {
  n_wakes_.fetch_add(1);
  n_wakes_.notify_one();
}

void StreamScheduler::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    threads.swap(threads_);
  }
  n_wakes_.fetch_add(1);
  n_wakes_.notify_all();
  for (std::thread& thread : threads) thread.join();
  std::list<Entry> left;
  {
    const std::lock_guard lock(mutex_);
    left.swap(streams_);
  }
  for (const Entry& entry : left)
    entry.stream->give_up({ErrorCode::cancelled, "the recogniser was closed while a stream was open"});
}

void StreamScheduler::run() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    const uint64_t n_known = n_wakes_.load();
    auto chosen = streams_.end();
    StreamTask task = StreamTask::none;
    for (auto entry = streams_.begin(); entry != streams_.end(); ++entry) {
      if (entry->is_at_work) continue;
      const StreamTask wanted = entry->stream->most_urgent();
      if (wanted <= task) continue;
      task = wanted;
      chosen = entry;
    }
    if (task == StreamTask::none) {
      lock.unlock();
      n_wakes_.wait(n_known);
      lock.lock();
      continue;
    }
    streams_.splice(streams_.end(), streams_, chosen);
    chosen->is_at_work = true;
    std::shared_ptr<StreamState> stream = chosen->stream;
    lock.unlock();
    if (task <= StreamTask::preview) std::this_thread::sleep_for(kFeederFirst);
    stream->compute(task);
    lock.lock();
    const auto entry = std::ranges::find(streams_, stream, &Entry::stream);
    if (entry != streams_.end()) entry->is_at_work = false;
    lock.unlock();
    stream.reset();  // which may be the end of it, if it was closed meanwhile
    lock.lock();
  }
}

}  // namespace parlance
