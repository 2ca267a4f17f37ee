#include "measure/served_talks.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>

#include "json/json.h"
#include "measure/served_answers.h"
#include "measure/stopwatch.h"
#include "text/base64.h"

namespace parlance {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using boost::system::error_code;

constexpr size_t kBytesPerMs = 2 * 24;
constexpr int kPieceMs = 20, kPauseMs = 2000, kLongestWaitMs = 30000;
constexpr size_t kPieceBytes = kPieceMs * kBytesPerMs;
constexpr double kAudible = 0.01;  // of the loudest sample

double ms_since(Clock::time_point start) {
  return 1000 * seconds_since(start);
}

// One who talks: sends a piece whenever it is time for one, and takes what comes.
class Talker {
 public:
  // Questions must outlive it.
  Talker(asio::io_context& context, const ServedTalksTest& test, size_t first_question)
      : socket_(context), test_(test), question_(first_question) {}

  Result<void> open(uint16_t port) {
    error_code error;
    socket_.next_layer().connect({asio::ip::address_v4::loopback(), port}, error);
    if (!error) socket_.next_layer().set_option(asio::ip::tcp::no_delay(true), error);
    if (!error) socket_.handshake("127.0.0.1", "/v1/realtime", error);
    if (error) return fail(ErrorCode::io, "127.0.0.1:{}/v1/realtime: {}", port, error.message());
    const Json pcm = Json::object({{"format", Json::object({{"type", "audio/pcm"}, {"rate", 24000}})}});
    send(Json::object(
        {{"type", "session.update"},
         {"session", Json::object({{"type", "realtime"},
                                   {"audio", Json::object({{"input", pcm}, {"output", pcm}})}})}}));
    read();
    begin_turn();
    return {};
  }

  bool is_done() const { return n_left_ == 0; }

  // What is said at this moment.
  void speak() {
    if (is_done()) return;
    const RealtimeSound& question = test_.questions[question_ % test_.questions.size()];
    std::string piece = n_said_ < question.size() ? question.substr(n_said_, kPieceBytes) : std::string();
    piece.resize(kPieceBytes);  // silence behind it
    send(Json::object({{"type", "input_audio_buffer.append"}, {"audio", to_base64(piece)}}));
    if (n_said_ < question.size()) {
      n_said_ += kPieceBytes;
      if (n_said_ >= question.size()) said_ = Clock::now();
      return;
    }
    if (done_ && (n_left_ == 1 || ms_since(*done_) >= kPauseMs)) {
      end_turn({});
    } else if (!done_ && ms_since(*said_) > kLongestWaitMs) {
      end_turn("no answer within 30 seconds");
    }
  }

  std::vector<double> first_ms, missing_ms;
  int n_failed = 0;
  std::string failure;

 private:
  void begin_turn() {
    n_said_ = 0;
    said_.reset();
    sounds_.reset();
    done_.reset();
    played_ms_ = missing_ms_ = 0;
  }

  void end_turn(const std::string& what_failed) {
    if (sounds_ && what_failed.empty()) {
      first_ms.push_back(1000 * std::chrono::duration<double>(*sounds_ - *said_).count());
      missing_ms.push_back(missing_ms_);
    } else if (n_failed++ == 0) {
      failure = what_failed.empty() ? "an answer without sound" : what_failed;
    }
    --n_left_;
    ++question_;
    begin_turn();
  }

  void give_up(const error_code& error) {
    while (!is_done()) end_turn("the session ended: " + error.message());
  }

  void send(const Json& event) {
    leaving_.push_back(event.line());
    if (leaving_.size() == 1) write();
  }

  void write() {
    socket_.async_write(asio::buffer(leaving_.front()), [this](const error_code& error, size_t) {
      if (error) return give_up(error);
      leaving_.pop_front();
      if (!leaving_.empty()) write();
    });
  }

  void read() {
    socket_.async_read(coming_, [this](const error_code& error, size_t) {
      if (error) return give_up(error);
      if (const auto event = Json::parse(beast::buffers_to_string(coming_.data()))) take(*event);
      coming_.clear();
      read();
    });
  }

  void take(const Json& event) {
    const std::string type = event.member("type").value_or(Json()).text().value_or("");
    if (type == "error") failure = event.line();
    if (!said_) return;  // of the turn before, which was given up
    if (type == "response.output_audio.delta") {
      const std::string text = event.member("delta").value_or(Json()).text().value_or("");
      take_sound(static_cast<double>(from_base64(text).value_or("").size()) / kBytesPerMs);
    } else if (type == "response.done" && sounds_ && !done_) {  // not one that more speech cut off
      done_ = Clock::now();
    }
  }

  // What comes later than it was to be played is waited for.
  void take_sound(double ms) {
    if (!sounds_) sounds_ = Clock::now();
    const double late_ms = ms_since(*sounds_) - (played_ms_ + missing_ms_);
    missing_ms_ += std::max(late_ms, 0.0);
    played_ms_ += ms;
  }

  websocket::stream<asio::ip::tcp::socket> socket_;
  const ServedTalksTest& test_;
  std::deque<std::string> leaving_;
  beast::flat_buffer coming_;

  int n_left_ = test_.n_turns;
  size_t question_;
  size_t n_said_ = 0;                                      // bytes of the question
  std::optional<Clock::time_point> said_, sounds_, done_;  // the question; the answer, first and whole
  double played_ms_ = 0, missing_ms_ = 0;                  // of the answer
};

}  // namespace

Result<ServedTalks> run_served_talks(uint16_t port, const ServedTalksTest& test,
                                     const Cancellation& cancellation) {
  asio::io_context context;
  std::vector<std::unique_ptr<Talker>> talkers;
  for (int i = 0; i < test.n_sessions; ++i) {
    talkers.push_back(std::make_unique<Talker>(context, test, static_cast<size_t>(i)));
    PARLANCE_CHECK(talkers.back()->open(port));
  }
  const auto all_done = [&] { return std::ranges::all_of(talkers, &Talker::is_done); };
  for (Clock::time_point next = Clock::now(); !all_done(); next += std::chrono::milliseconds(kPieceMs)) {
    if (cancellation.cancelled()) return fail(ErrorCode::cancelled, "cancelled");
    context.run_until(next);
    context.restart();
    for (const auto& talker : talkers) talker->speak();
  }
  ServedTalks talks;
  std::vector<double> first_ms, missing_ms;
  for (const auto& talker : talkers) {
    first_ms.insert(first_ms.end(), talker->first_ms.begin(), talker->first_ms.end());
    missing_ms.insert(missing_ms.end(), talker->missing_ms.begin(), talker->missing_ms.end());
    talks.n_failed += talker->n_failed;
    if (talks.first_failure.empty()) talks.first_failure = talker->failure;
  }
  talks.n_turns = static_cast<int>(first_ms.size());
  talks.first_ms = spread_of(std::move(first_ms));
  talks.missing_ms = spread_of(std::move(missing_ms));
  return talks;
}

Result<RealtimeSound> spoken_by_server(uint16_t port, const std::string& text) {
  PARLANCE_TRY(
      std::string bytes,
      post_to_server(port, "/v1/audio/speech",
                     Json::object({{"input", text}, {"seed", 1}, {"response_format", "pcm"}}).line()));
  std::vector<int16_t> samples(bytes.size() / 2);
  std::memcpy(samples.data(), bytes.data(), 2 * samples.size());
  int loudest = 0;
  for (const int16_t sample : samples) loudest = std::max(loudest, std::abs(int{sample}));
  while (!samples.empty() && std::abs(int{samples.back()}) < kAudible * loudest) samples.pop_back();
  return bytes.substr(0, 2 * samples.size());
}

}  // namespace parlance
