// Whose turn it is to compute: one thread at a time, whoever waits for something, or a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "base/function_ref.h"

namespace parlance {

class Turns {
 public:
  // What came of a turn.
  enum class Progress : uint8_t {
    made,
    waiting,  // there is something to do, and nothing can be done now
    idle,     // nothing is left to do, until wake()
  };

  explicit Turns(std::function<Progress()> take_turn) : take_turn_(std::move(take_turn)) {}
  ~Turns() { stop(); }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Returns when `is_over` says so, which is asked after each turn and under no lock; takes turns meanwhile,
  // if nobody else does.
  void wait(FunctionRef<bool()> is_over);

  // From now on turns are taken by a thread of its own.
  void start();
  // Ends that thread; there is no other after it.
  void stop();

  // Something has changed that makes a turn worth while, or that somebody waits for.
  void wake();

  // Keeps turns from being taken: waits for the one that is.
  void pause();
  void resume();

 private:
  void run_thread();

  const std::function<Progress()> take_turn_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool is_taken_ = false;
  int n_pausing_ = 0;  // threads that wait for a pause: they go before the next turn
  bool is_stopping_ = false;
  uint64_t n_wakes_ = 0;
  std::thread thread_;
};

}  // namespace parlance
