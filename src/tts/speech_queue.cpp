#include "tts/speech_queue.h"

#include <utility>

namespace parlance {

SpeechQueue::~SpeechQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    orders_.clear();
    current_.cancel();
  }
  has_orders_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void SpeechQueue::post(std::shared_ptr<SpeechOrder> order) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  has_orders_.notify_one();
}

void SpeechQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_orders_.wait(lock, [&] { return is_over_ || !orders_.empty(); });
    if (is_over_) return;
    std::shared_ptr<SpeechOrder> order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    speak(*order);
    order.reset();
    lock.lock();
  }
}

void SpeechQueue::speak(SpeechOrder& order) {
  std::optional<SpeechRequest> request = order.begin();
  if (!request) return;
  {
    const std::lock_guard lock(mutex_);
    current_ = CancellationSource(request->cancellation);
    request->cancellation = current_.ticket();
    if (is_over_) current_.cancel();
  }
  order.end(synthesizer_.stream(*request, [&](std::span<const float> samples, bool is_last) {
    return is_last || order.take(samples);
  }));
}

}  // namespace parlance
