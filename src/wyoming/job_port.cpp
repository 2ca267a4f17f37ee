#include "wyoming/job_port.h"

namespace parlance {

namespace {

// Of memory, about.
size_t size_of(const WyomingEvent& event) {
  constexpr size_t kOfEvent = 256;
  return kOfEvent + event.payload.size() + event.text("text").size();
}

}  // namespace

std::optional<WyomingEvent> JobPort::next(std::optional<Clock::time_point> time) {
  std::unique_lock lock(mutex_);
  const auto has_news = [&] { return !events_.empty() || is_over_; };
  if (time) {
    has_news_.wait_until(lock, *time, has_news);
  } else {
    has_news_.wait(lock, has_news);
  }
  if (events_.empty() || ticket_.cancelled()) return std::nullopt;
  WyomingEvent event = std::move(events_.front());
  events_.pop_front();
  n_bytes_ -= size_of(event);
  const bool is_empty = events_.empty();
  lock.unlock();
  if (is_empty) on_room_();
  return event;
}

bool JobPort::has_ended() const {
  const std::lock_guard lock(mutex_);
  return is_over_ && (events_.empty() || ticket_.cancelled());
}

bool JobPort::send(const WyomingEvent& event) {
  if (ticket_.cancelled()) return false;
  sink_->send(wyoming_bytes(event));
  while (sink_->n_unsent() > kMostUnsent && !ticket_.cancelled()) {
    {
      const std::lock_guard lock(mutex_);
      is_taken_ = false;
    }
    sink_->when_taken([this] {
      const std::lock_guard lock(mutex_);
      is_taken_ = true;
      has_news_.notify_all();
    });
    std::unique_lock lock(mutex_);
    has_news_.wait(lock, [&] { return is_taken_; });
  }
  return !ticket_.cancelled();
}

void JobPort::give(WyomingEvent event) {
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  n_bytes_ += size_of(event);
  events_.push_back(std::move(event));
  has_news_.notify_all();
}

void JobPort::end() {
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  has_news_.notify_all();
}

void JobPort::cancel() {
  source_.cancel();
  end();
}

size_t JobPort::n_bytes() const {
  const std::lock_guard lock(mutex_);
  return n_bytes_;
}

}  // namespace parlance
