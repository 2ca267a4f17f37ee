#include "tts/speech_queue.h"

#include <algorithm>
#include <utility>

namespace parlance {

SpeechQueue::~SpeechQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    orders_.clear();
    for (const Turn& turn : turns_) turn.source.cancel();
  }
  has_orders_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void SpeechQueue::post(std::shared_ptr<SpeechOrder> order) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
    const size_t n_wanted =
        std::min(orders_.size() + turns_.size(), static_cast<size_t>(synthesizer_.n_at_once()));
    if (threads_.size() < n_wanted) threads_.emplace_back([this] { run(); });
  }
  has_orders_.notify_one();
}

// The first order of somebody who does not speak.
SpeechQueue::Orders::iterator SpeechQueue::next() {
  return std::ranges::find_if(orders_, [&](const auto& order) {
    return std::ranges::find(turns_, order->speaker(), &Turn::speaker) == turns_.end();
  });
}

void SpeechQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_orders_.wait(lock, [&] { return is_over_ || next() != orders_.end(); });
    if (is_over_) return;
    const auto place = next();
    std::shared_ptr<SpeechOrder> order = std::move(*place);
    orders_.erase(place);
    const auto turn = turns_.insert(turns_.end(), Turn{order->speaker(), {}});
    lock.unlock();
    speak(*order, *turn);
    order.reset();
    lock.lock();
    turns_.erase(turn);
    // What the same speaker says next may be anybody's to speak.
    has_orders_.notify_one();
  }
}

void SpeechQueue::speak(SpeechOrder& order, Turn& turn) {
  std::optional<SpeechRequest> request = order.begin();
  if (!request) return;
  {
    const std::lock_guard lock(mutex_);
    turn.source = CancellationSource(request->cancellation);
    request->cancellation = turn.source.ticket();
    if (is_over_) turn.source.cancel();
  }
  order.end(synthesizer_.stream(*request, [&](std::span<const float> samples, bool is_last) {
    return is_last || order.take(samples);
  }));
}

}  // namespace parlance
