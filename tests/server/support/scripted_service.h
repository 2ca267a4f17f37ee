// A service for a listener alone, which says what the test wants.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/listener.h"
#include "support/comes_true.h"

namespace parlance::test {

// What comes is said back; /hold and the end of /stream are the test's to answer.
inline HttpAnswer answer_with(std::string body, int status = 200) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

class ScriptedService : public HttpService {
 public:
  // /stuck holds up the listener's thread until it may go on.
  struct Hook {
    std::atomic<bool> is_reached{false}, may_go_on{false};
  };

  Admission admit(const HttpRequest& head) override {
    if (head.path == "/stuck" && hook) {
      hook->is_reached = true;
      while (!hook->may_go_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (head.path == "/refused") return {.refusal = answer_with("no", 404)};
    return {.refusal = {}, .n_body_bytes = size_t{64} << 10};
  }
  void serve(HttpRequest request, std::shared_ptr<Reply> reply) override {
    if (request.path == "/hold" || request.path == "/stream") {
      if (request.path == "/stream") reply->begin(answer_with("begun"));
      const std::lock_guard lock(mutex_);
      held_.push_back(std::move(reply));
      return;
    }
    reply->send(answer_with(request.method + " " + request.path + " " + request.body));
  }
  HttpAnswer refuse(int status, const std::string& why) override { return answer_with(why, status); }
  void complete(const HttpRequest&, HttpAnswer&) override {}
  void note(const HttpRequest&, int, bool was_cut) override { n_cut += was_cut; }
  bool is_draining() const override { return drains; }

  std::vector<std::shared_ptr<Reply>> held() {
    const std::lock_guard lock(mutex_);
    return held_;
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    held_.clear();
  }

  Hook* hook = nullptr;
  std::atomic<bool> drains{false};
  std::atomic<int> n_cut{0};

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Reply>> held_;
};

}  // namespace parlance::test
