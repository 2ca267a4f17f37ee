// What a connection may ask for and when, with services that do what the test says.
#include "wyoming/session.h"

#include <thread>

#include "gtest/gtest.h"
#include "wyoming/conversation_memory.h"
#include "wyoming/services.h"

namespace parlance {
namespace {

using std::chrono::milliseconds;

// The connection's thread is the test's: what is posted is called by run().
class ScriptedSink final : public WyomingSink {
 public:
  void send(std::string bytes) override {
    const std::lock_guard lock(mutex_);
    n_unsent_ += is_stuck ? bytes.size() : 0;
    reader_.push(bytes);
    while (auto event = *reader_.next()) events_.push_back(*std::move(event));
  }
  void close() override { is_closed = true; }
  size_t n_unsent() const override { return n_unsent_; }
  void when_taken(std::function<void()> on_taken) override {
    const std::lock_guard lock(mutex_);
    on_taken_ = std::move(on_taken);
  }
  void post(std::function<void()> call) override {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }

  // Until so many events were sent, and then what is waiting.
  std::string types(size_t n) {
    for (int i = 0; i < 5000; ++i) {
      run();
      const std::lock_guard lock(mutex_);
      if (events_.size() >= n) break;
      std::this_thread::sleep_for(milliseconds(1));
    }
    run();
    const std::lock_guard lock(mutex_);
    std::string all;
    for (const WyomingEvent& event : events_) all += "<" + event.type + ">";
    return all;
  }
  // Whether it closes, which may come behind the last event.
  bool closes() {
    for (int i = 0; i < 5000 && !is_closed; ++i) {
      run();
      std::this_thread::sleep_for(milliseconds(1));
    }
    return is_closed;
  }
  void run() {
    std::deque<std::function<void()>> calls;
    {
      const std::lock_guard lock(mutex_);
      calls.swap(calls_);
    }
    for (const auto& call : calls) call();
  }
  WyomingEvent last() {
    const std::lock_guard lock(mutex_);
    return events_.back();
  }
  void unstick() {
    is_stuck = false;
    n_unsent_ = 0;
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex_);
      call.swap(on_taken_);
    }
    if (call) call();
  }

  std::atomic<bool> is_closed{false}, is_stuck{false};

 private:
  std::mutex mutex_;
  WyomingReader reader_;
  std::vector<WyomingEvent> events_;
  std::deque<std::function<void()>> calls_;
  std::function<void()> on_taken_;
  std::atomic<size_t> n_unsent_{0};
};

class WyomingConnection : public testing::Test {
 protected:
  WyomingConnection() {
    services_.info = [] { return wyoming_bytes({.type = "info"}); };
    services_.hear = [this](const WyomingEvent& first, JobPort& port) { return hear(first, port); };
    services_.speak = [](const WyomingEvent& first, JobPort& port) -> Result<void> {
      if (first.text("text") == "wrong") return fail(ErrorCode::not_found, "there is no such voice");
      port.send({.type = "spoken", .data = first.data});
      return {};
    };
    services_.speak_along = services_.answer = [](const WyomingEvent&, JobPort& port) -> Result<void> {
      std::string all;
      while (const auto event = port.next()) all += event->text("text");
      port.send({.type = "said", .data = Json::object({{"text", all}})});
      return {};
    };
  }
  void TearDown() override { disconnect(); }

  void disconnect() {
    sink_->unstick();
    session_->cut();
    threads_.wait();
    sink_->run();
  }
  void reconnect() {
    disconnect();
    sink_ = std::make_shared<ScriptedSink>();
    session_ = std::make_shared<WyomingSession>(sink_, services_, threads_);
  }

  Result<void> hear(const WyomingEvent& first, JobPort& port) {
    size_t n = 0;
    while (const auto event = port.next()) {
      n += event->payload.size();
      while (is_slow_ && !port.ticket().cancelled()) std::this_thread::sleep_for(milliseconds(1));
    }
    n_cancelled_ += port.ticket().cancelled();
    port.send({.type = "heard", .data = Json::object({{"n", n}, {"language", first.text("language")}})});
    return {};
  }
  void send(const char* type, Json data = Json::object(), size_t n_payload = 0) {
    session_->take({.type = type, .data = std::move(data), .payload = std::string(n_payload, 'x')});
  }
  static Json text(const char* text) { return Json::object({{"text", text}}); }
  std::string types(size_t n) { return sink_->types(n); }

  WyomingServices services_;
  JobThreads threads_;  // end before the services
  std::atomic<bool> is_slow_{false};
  std::atomic<int> n_cancelled_{0};
  std::shared_ptr<ScriptedSink> sink_ = std::make_shared<ScriptedSink>();
  std::shared_ptr<WyomingSession> session_ = std::make_shared<WyomingSession>(sink_, services_, threads_);
};

TEST_F(WyomingConnection, WhatIsKnownIsAnsweredAtOnceAndWhatIsNotPassedOver) {
  send("no-such-event");
  send("audio-chunk", Json::object(), 10);  // of no sound
  send("audio-stop");
  send("synthesize-stop");
  send("ping", text("a"));
  EXPECT_EQ(types(1), "<pong>");
  EXPECT_EQ(sink_->last().text("text"), "a");
  send("describe");
  send("recognize", text("lights"));
  EXPECT_EQ(types(3), "<pong><info><not-recognized>");
  EXPECT_FALSE(sink_->is_closed);
}

TEST_F(WyomingConnection, SoundIsHeardWithWhatWasSaidBefore) {
  send("transcribe", Json::object({{"language", "en"}}));
  send("audio-start", Json::object({{"rate", 16000}}));
  EXPECT_TRUE(session_->is_within_input());
  for (int i = 0; i < 3; ++i) send("audio-chunk", Json::object(), 100);
  send("ping");
  send("audio-stop");
  EXPECT_FALSE(session_->is_within_input());
  EXPECT_EQ(types(2), "<pong><heard>");
  EXPECT_EQ(sink_->last().data.member("n")->integer(), 300);
  EXPECT_EQ(sink_->last().text("language"), "en");
  // The next sound begins anew.
  send("audio-start");
  send("audio-stop");
  EXPECT_EQ(types(3), "<pong><heard><heard>");
  EXPECT_EQ(sink_->last().text("language"), "");
  threads_.wait();  // a job says that it has ended behind what it sent
  sink_->run();
  EXPECT_FALSE(session_->is_at_work());
}

TEST_F(WyomingConnection, ATextInPiecesIsNotSaidTwice) {
  send("synthesize-start");
  send("synthesize-chunk", text("one "));
  send("synthesize-chunk", text("two"));
  send("synthesize", text("one two"));
  send("synthesize-stop");
  EXPECT_EQ(types(1), "<said>");
  EXPECT_EQ(sink_->last().text("text"), "one two");
  send("synthesize", text("three"));
  EXPECT_EQ(types(2), "<said><spoken>");
}

TEST_F(WyomingConnection, RequestsAreDoneInTheirOrderAndFourMayWait) {
  send("audio-start");  // at work until its sound ends
  for (const char* one : {"1", "2", "3", "4"}) send("synthesize", text(one));
  EXPECT_EQ(types(0), "");
  send("audio-stop");
  EXPECT_EQ(types(5), "<heard><spoken><spoken><spoken><spoken>");
  EXPECT_EQ(sink_->last().text("text"), "4");

  send("audio-start");
  for (const char* one : {"1", "2", "3", "4", "5"}) send("synthesize", text(one));
  EXPECT_EQ(types(6).substr(std::string("<heard><spoken><spoken><spoken><spoken>").size()), "<error>");
  EXPECT_EQ(sink_->last().text("code"), "server_overloaded");
  EXPECT_TRUE(sink_->closes());
}

TEST_F(WyomingConnection, AnErrorIsToldAndEndsTheConnection) {
  send("synthesize", text("wrong"));
  send("synthesize", text("right"));
  EXPECT_EQ(types(1), "<error>");
  EXPECT_EQ(sink_->last().text("code"), "not_found");
  EXPECT_EQ(sink_->last().text("text"), "there is no such voice");
  EXPECT_TRUE(sink_->closes());
  send("ping");
  EXPECT_EQ(types(1), "<error>");
}

TEST_F(WyomingConnection, WhatComesTwiceOrIsNotThereIsAnError) {
  for (const char* type : {"audio-start", "synthesize-start", "detect"}) {
    SCOPED_TRACE(type);
    reconnect();
    send(type);
    if (type != std::string("detect")) send(type);
    EXPECT_TRUE(types(1).starts_with("<error>")) << types(1);
    EXPECT_TRUE(sink_->closes());
  }
}

TEST_F(WyomingConnection, AnEndOfInputFinishesWhatWasAskedFor) {
  send("audio-start");
  send("audio-chunk", Json::object(), 50);
  send("synthesize", text("behind it"));
  session_->end_input();
  EXPECT_EQ(types(2), "<heard><spoken>");
  EXPECT_TRUE(sink_->closes());

  reconnect();
  session_->end_input();  // nothing was asked for
  EXPECT_TRUE(sink_->closes());
}

TEST_F(WyomingConnection, WhoIsGoneIsDoneNothingFor) {
  is_slow_ = true;
  send("audio-start");
  send("audio-chunk", Json::object(), 50);
  send("synthesize", text("never"));
  session_->cut();
  for (int i = 0; i < 5000 && n_cancelled_ == 0; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(n_cancelled_, 1);
  EXPECT_EQ(types(0), "");
}

TEST_F(WyomingConnection, WhoSendsFasterThanIsHeardHasToWait) {
  std::atomic<int> n_room{0};
  session_->when_room([&] { ++n_room; });
  is_slow_ = true;
  send("audio-start");
  size_t n = 0;
  while (session_->wants_more() && n < 100) {
    send("audio-chunk", Json::object(), size_t{256} << 10);
    ++n;
  }
  EXPECT_LT(n, 20u);
  EXPECT_GT(n, 10u);
  is_slow_ = false;
  for (int i = 0; i < 5000 && !session_->wants_more(); ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(session_->wants_more());
  for (int i = 0; i < 5000 && n_room == 0; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_GT(n_room, 0);
  send("audio-stop");
  EXPECT_EQ(types(1), "<heard>");
}

TEST_F(WyomingConnection, AJobWaitsForAClientThatReadsSlowly) {
  std::atomic<int> n_sent{0};
  services_.answer = [&](const WyomingEvent&, JobPort& port) -> Result<void> {
    while (n_sent < 10 && port.send({.type = "piece", .payload = std::string(size_t{100} << 10, 'p')}))
      ++n_sent;
    return {};
  };
  sink_->is_stuck = true;
  send("transcript", text("tell me"));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_LT(n_sent, 4);
  sink_->unstick();
  EXPECT_EQ(types(10).size(), 10 * std::string("<piece>").size());
}

TEST(WyomingMemory, KeepsThirtyTwoTurnsForAnHour) {
  const auto start = ConversationMemory::Clock::now();
  ConversationMemory memory;
  const auto kitchen = memory.open("kitchen", start);
  for (int i = 0; i < 40; ++i) kitchen->add_turn("q" + std::to_string(i), "a" + std::to_string(i));
  EXPECT_EQ(kitchen->messages.size(), 64u);
  EXPECT_EQ(kitchen->messages.front().content, "q8");
  EXPECT_EQ(kitchen->messages.back().content, "a39");
  EXPECT_EQ(memory.open("kitchen", start + std::chrono::minutes(59)), kitchen);
  EXPECT_EQ(memory.open("kitchen", start + std::chrono::minutes(118)), kitchen);  // a use keeps it
  EXPECT_NE(memory.open("kitchen", start + std::chrono::minutes(178)), kitchen);
  EXPECT_EQ(memory.n_conversations(), 1u);
  for (size_t i = 0; i < ConversationMemory::kMostConversations; ++i) {
    memory.open(std::to_string(i), start + std::chrono::minutes(179));
  }
  EXPECT_EQ(memory.n_conversations(), ConversationMemory::kMostConversations);
}

}  // namespace
}  // namespace parlance
