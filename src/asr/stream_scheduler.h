// Which stream is computed for next. A few threads serve all streams: what streams decode at the same time
// becomes one step of the language model (engine/scheduler.h), and the encoder takes them in turn.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "asr/stream_state.h"

namespace parlance {

// All calls may come from any thread.
class StreamScheduler {
 public:
  // A thread for each stream, but no more than this.
  explicit StreamScheduler(size_t most_threads) : most_threads_(most_threads) {}
  ~StreamScheduler() { stop(); }
  StreamScheduler(const StreamScheduler&) = delete;
  StreamScheduler& operator=(const StreamScheduler&) = delete;

  void add(std::shared_ptr<StreamState> stream);
  // Of one that was closed; what is being computed for it ends soon.
  void remove(const std::shared_ptr<StreamState>& stream);

  // Something has changed about a stream. Takes no lock, since whoever feeds must not wait for a thread that
  // lost its processor while it held one.
  void wake();

  // Waits for what is being computed, which somebody has cancelled; streams that are left give up.
  void stop();

 private:
  struct Entry {
    std::shared_ptr<StreamState> stream;
    bool is_at_work = false;
  };

  void run();

  const size_t most_threads_;
  std::atomic<uint64_t> n_wakes_{0};
  std::mutex mutex_;          // of what follows
  std::list<Entry> streams_;  // whoever had its turn goes to the end
  std::vector<std::thread> threads_;
  bool is_stopping_ = false;
};

}  // namespace parlance
