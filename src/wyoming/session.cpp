#include "wyoming/session.h"

#include <thread>
#include <utility>

#include "assistant/wording.h"

namespace parlance {

namespace {

const char* code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_value";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::busy:
    case ErrorCode::out_of_memory:
      return "server_overloaded";
    case ErrorCode::timed_out:
      return "timeout";
    default:
      return "internal_error";
  }
}

}  // namespace

void JobThreads::wait() {
  std::unique_lock lock(mutex_);
  has_ended_.wait(lock, [&] { return n_running_ == 0; });
}

void JobThreads::start(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    ++n_running_;
  }
  std::thread([this, job = std::move(job)]() mutable {
    job();
    job = {};
    const std::lock_guard lock(mutex_);
    if (--n_running_ == 0) has_ended_.notify_all();
  }).detach();
}

void WyomingSession::take(WyomingEvent event) {
  if (is_over_) return;
  const std::string& type = event.type;
  if (type == "describe") {
    sink_->send(services_.info());
  } else if (type == "ping") {
    send({.type = "pong", .data = Json::object({{"text", event.text("text")}})});
  } else if (type == "transcribe") {
    asked_ = std::move(event.data);
  } else if (type == "audio-start") {
    if (sound_)
      return fail({ErrorCode::invalid_argument, "audio-start came before the audio-stop of the last sound"});
    const auto format = event.data.members();
    Json data = std::exchange(asked_, Json::object());
    for (const auto& [name, value] : *format) data.set(name, value);
    event.data = data;
    sound_ = begin(services_.hear, std::move(event), /*has_input=*/true);
  } else if (type == "audio-chunk") {
    if (sound_) sound_->give(std::move(event));
  } else if (type == "audio-stop") {
    if (sound_) std::exchange(sound_, nullptr)->end();
  } else if (type == "synthesize") {
    // Who sends a text in pieces repeats all of it here, for servers that know no pieces.
    if (!text_) begin(services_.speak, std::move(event), /*has_input=*/false);
  } else if (type == "synthesize-start") {
    if (text_) {
      return fail(
          {ErrorCode::invalid_argument, "synthesize-start came before the synthesize-stop of the last text"});
    }
    text_ = begin(services_.speak_along, std::move(event), /*has_input=*/true);
  } else if (type == "synthesize-chunk") {
    if (text_) text_->give(std::move(event));
  } else if (type == "synthesize-stop") {
    if (text_) std::exchange(text_, nullptr)->end();
  } else if (type == "transcript") {
    begin(services_.answer, std::move(event), /*has_input=*/false);
  } else if (type == "recognize") {
    send({.type = "not-recognized", .data = Json::object({{"text", "intents are not known here"}})});
  } else if (type == "detect") {
    fail({ErrorCode::unsupported, "there is no wake word here; send what follows it"});
  }
}

std::shared_ptr<JobPort> WyomingSession::begin(const WyomingServices::Service& service, WyomingEvent first,
                                               bool has_input) {
  if (jobs_.size() > kMostWaiting) {
    fail({ErrorCode::busy, fmt::format("{} requests of this connection wait already", kMostWaiting)});
    return nullptr;
  }
  auto port = std::make_shared<JobPort>(sink_, on_room_);
  if (!has_input) port->end();
  jobs_.push_back({service, std::move(first), port});
  if (jobs_.size() == 1) run_next();
  return port;
}

void WyomingSession::run_next() {
  if (jobs_.empty()) {
    if (has_ended_) {
      is_over_ = true;
      sink_->close();
    }
    return;
  }
  threads_.start([self = shared_from_this(), service = &jobs_.front().service, first = jobs_.front().first,
                  port = jobs_.front().port]() mutable {
    auto result = (*service)(first, *port);
    const auto sink = self->sink_;
    sink->post([self = std::move(self), result = std::move(result)] { self->finish(result); });
  });
}

void WyomingSession::finish(const Result<void>& result) {
  if (jobs_.front().port == sound_) sound_.reset();  // what is still coming of it is of no use
  if (jobs_.front().port == text_) text_.reset();
  jobs_.pop_front();
  if (is_over_) return;
  if (!result) return fail(result.error());
  run_next();
  on_room_();
}

void WyomingSession::fail(const Error& error, bool is_told) {
  if (is_over_) return;
  if (is_told) {
    send({.type = "error",
          .data =
              Json::object({{"text", worded(error.message, Door::request)}, {"code", code_of(error.code)}})});
  }
  cut();
  sink_->close();
}

void WyomingSession::end_input() {
  has_ended_ = true;
  if (sound_) std::exchange(sound_, nullptr)->end();
  if (text_) std::exchange(text_, nullptr)->end();
  if (!is_over_ && jobs_.empty()) run_next();
}

void WyomingSession::cut() {
  is_over_ = true;
  for (const Job& job : jobs_) job.port->cancel();
  sound_.reset();
  text_.reset();
}

// Only who is at work makes room; what waits behind it is kept.
bool WyomingSession::wants_more() const {
  const auto has_room = [](const std::shared_ptr<JobPort>& port) {
    return !port || port->n_bytes() < kMuchInput;
  };
  return has_room(sound_) && has_room(text_);
}

}  // namespace parlance
