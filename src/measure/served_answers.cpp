#include "measure/served_answers.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <thread>

#include "json/json.h"
#include "measure/stopwatch.h"

namespace parlance {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

constexpr uint64_t kMostBytes = uint64_t{256} << 20;

// Sends one request and hands on what is known of the body, as often as there is more of it, until it is
// whole or is not wanted any more.
Result<std::string> post(uint16_t port, const std::string& path, const std::string& body,
                         const std::function<bool(std::string_view)>& on_body) {
  const auto failed = [&](const error_code& why) {
    return fail(ErrorCode::io, "127.0.0.1:{}{}: {}", port, path, why.message());
  };
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  error_code error;
  socket.connect({asio::ip::address_v4::loopback(), port}, error);
  if (error) return failed(error);
  http::request<http::string_body> request(http::verb::post, path, 11, body);
  request.set(http::field::host, "127.0.0.1");
  request.set(http::field::content_type, "application/json");
  request.prepare_payload();
  http::write(socket, request, error);
  if (error) return failed(error);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> answer;
  answer.body_limit(kMostBytes);
  while (!answer.is_done()) {
    http::read_some(socket, buffer, answer, error);
    if (error) return failed(error);
    if (answer.is_header_done() && !on_body(answer.get().body())) break;
  }
  if (answer.get().result() == http::status::ok) return std::move(answer.get().body());
  return fail(ErrorCode::invalid_argument, "{} answered {}: {}", path, answer.get().result_int(),
              answer.get().body());
}

std::string request_for(const ServedAnswersTest& test, uint32_t seed, int32_t n_vocab) {
  std::mt19937 random(seed);
  Json prompt = Json::array();
  for (int64_t i = 0; i < test.n_prompt; ++i)
    prompt.push(std::uniform_int_distribution<int32_t>(0, n_vocab - 1)(random));
  return Json::object({{"prompt", prompt},
                       {"max_tokens", test.n_answer},
                       {"temperature", 0},
                       {"ignore_eos", true},
                       {"stream", true},
                       {"stream_options", Json::object({{"include_usage", true}})}})
      .line();
}

// The words of an event, and how many tokens there were where it says so.
struct Event {
  explicit Event(const Json& json) {
    const auto choices = json.member("choices").value_or(Json()).elements().value_or(std::vector<Json>());
    for (const Json& choice : choices)
      has_words |= !choice.member("text").value_or(Json()).text().value_or("").empty();
    n_tokens = json.member("usage").value_or(Json()).member("completion_tokens").value_or(Json()).integer();
  }

  bool has_words = false;
  std::optional<int64_t> n_tokens;
};

// What all clients found.
class Findings {
 public:
  void take(const Result<std::string>& answer, const std::vector<double>& times_ms, int64_t n_tokens) {
    const std::lock_guard lock(mutex_);
    n_tokens_ += n_tokens;
    for (size_t i = 0; i < times_ms.size(); ++i) {
      if (i == 0) first_ms_.push_back(times_ms[0]);
      if (i > 0) gap_ms_.push_back(times_ms[i] - times_ms[i - 1]);
    }
    if (answer && n_tokens > 0) return;
    if (n_failed_++ == 0) first_failure_ = answer ? "an answer without tokens" : answer.error().message;
  }

  ServedAnswers in(double seconds) const {
    return {.seconds = seconds,
            .n_tokens = n_tokens_,
            .first_ms = spread_of(first_ms_),
            .gap_ms = spread_of(gap_ms_),
            .n_failed = n_failed_,
            .first_failure = first_failure_};
  }

 private:
  std::mutex mutex_;
  std::vector<double> first_ms_, gap_ms_;
  int64_t n_tokens_ = 0;
  int n_failed_ = 0;
  std::string first_failure_;
};

void ask(uint16_t port, const std::string& request, const Cancellation& cancellation, Findings& findings) {
  const Clock::time_point start = Clock::now();
  std::vector<double> times_ms;  // of words
  int64_t n_tokens = 0;
  size_t seen = 0;  // bytes of whole lines
  const auto answer = post(port, "/v1/completions", request, [&](std::string_view body) {
    const double now_ms = 1000 * seconds_since(start);
    for (size_t end; (end = body.find('\n', seen)) != std::string_view::npos; seen = end + 1) {
      const std::string_view line = body.substr(seen, end - seen);
      if (!line.starts_with("data: {")) continue;
      const auto json = Json::parse(line.substr(6));
      if (!json) continue;
      const Event event(*json);
      if (event.has_words) times_ms.push_back(now_ms);
      n_tokens = event.n_tokens.value_or(n_tokens);
    }
    return !cancellation.cancelled();
  });
  findings.take(answer, times_ms, n_tokens);
}

}  // namespace

Result<ServedAnswers> run_served_answers(uint16_t port, const ServedAnswersTest& test, int32_t n_vocab,
                                         const Cancellation& cancellation) {
  Findings findings;
  const Clock::time_point start = Clock::now();
  {
    std::vector<std::jthread> clients;
    for (int client = 0; client < test.n_clients; ++client) {
      clients.emplace_back([&, client] {
        for (int i = 0; i < test.n_each && !cancellation.cancelled(); ++i) {
          const auto seed = test.first_seed + static_cast<uint32_t>(client * test.n_each + i);
          ask(port, request_for(test, seed, n_vocab), cancellation, findings);
        }
      });
    }
  }
  if (cancellation.cancelled()) return fail(ErrorCode::cancelled, "cancelled");
  return findings.in(seconds_since(start));
}

Result<std::string> post_to_server(uint16_t port, const std::string& path, const std::string& body) {
  return post(port, path, body, [](std::string_view) { return true; });
}

}  // namespace parlance
