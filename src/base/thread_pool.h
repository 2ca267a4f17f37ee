// Threads that share the tasks of one operation. The caller takes part; between operations the workers spin
// briefly and then sleep, so that a machine shared with other programs is not kept busy for nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "base/function_ref.h"

namespace parlance {

class ThreadPool {
 public:
  // n_threads counts the calling thread. With `pin`, each worker (not the caller) is bound to a processor of
  // its own when there are as many usable processors as threads. Where the system refuses more threads there
  // are fewer.
  explicit ThreadPool(int n_threads, bool pin);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int n_threads() const;

  // Calls task(i, thread) for every i in [0, n_tasks), in any order, thread in [0, n_threads()). Each thread
  // goes through consecutive tasks and then takes over what others have not begun, so that one that lost its
  // processor holds up one task, not its share. Returns when all are done. One caller at a time; tasks must
  // not call run() themselves. With one task the caller runs it alone.
  void run(int64_t n_tasks, FunctionRef<void(int64_t task, int thread)> task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace parlance
