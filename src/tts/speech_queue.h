// Speech in the order in which it was asked for, made by a thread of the queue, so that nobody who asks
// waits.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "tts/synthesizer.h"

namespace parlance {

// Something that is to be spoken. Everything is called on the thread that speaks.
class SpeechOrder {
 public:
  virtual ~SpeechOrder() = default;

  // Its turn has come: what is to be said now, or nothing if nobody wants it any more.
  virtual std::optional<SpeechRequest> begin() = 0;
  // The next samples. False ends the order.
  virtual bool take(std::span<const float> samples) = 0;
  // If begin() gave something. Errors: as of Synthesizer::stream().
  virtual void end(Result<SpeechReport> report) = 0;
};

// All calls may come from any thread.
class SpeechQueue {
 public:
  // The synthesizer must outlive the queue.
  explicit SpeechQueue(Synthesizer& synthesizer) : synthesizer_(synthesizer) {}
  // Waits for the order that is being spoken; those behind it are dropped.
  ~SpeechQueue();
  SpeechQueue(const SpeechQueue&) = delete;
  SpeechQueue& operator=(const SpeechQueue&) = delete;

  void post(std::shared_ptr<SpeechOrder> order);

 private:
  void run();
  void speak(SpeechOrder& order);

  Synthesizer& synthesizer_;
  std::mutex mutex_;  // of what follows
  std::condition_variable has_orders_;
  std::deque<std::shared_ptr<SpeechOrder>> orders_;
  CancellationSource current_;  // of what is being spoken
  bool is_over_ = false;
  std::thread thread_;  // from the first order on
};

}  // namespace parlance
