// Speech in the order in which it was asked for, made by threads of the queue, so that nobody who asks waits:
// as many as the synthesizer does requests at once. What one speaker says comes in its order all the same.
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "tts/synthesizer.h"

namespace parlance {

// Something that is to be spoken. Everything but speaker() is called on the thread that speaks.
class SpeechOrder {
 public:
  virtual ~SpeechOrder() = default;

  // Who says it: what the same one says is spoken one after the other. From any thread.
  virtual const void* speaker() const = 0;
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
  // Waits for the orders that are being spoken; those behind them are dropped.
  ~SpeechQueue();
  SpeechQueue(const SpeechQueue&) = delete;
  SpeechQueue& operator=(const SpeechQueue&) = delete;

  void post(std::shared_ptr<SpeechOrder> order);

 private:
  using Orders = std::deque<std::shared_ptr<SpeechOrder>>;
  struct Turn {
    const void* speaker;
    CancellationSource source;  // of what is being spoken
  };

  void run();
  Orders::iterator next();
  void speak(SpeechOrder& order, Turn& turn);

  Synthesizer& synthesizer_;
  std::mutex mutex_;  // of what follows
  std::condition_variable has_orders_;
  Orders orders_;
  std::list<Turn> turns_;  // of those who speak
  bool is_over_ = false;
  std::vector<std::thread> threads_;  // from when they are first wanted
};

}  // namespace parlance
