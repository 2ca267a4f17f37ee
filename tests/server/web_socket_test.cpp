// The listener's WebSockets with a talker that says what comes back: frames in every split, what cannot be,
// clients that leave, do not read or say nothing.
#include "server/web_socket.h"

#include <algorithm>
#include <thread>

#include "base/os/memory.h"
#include "gtest/gtest.h"
#include "server/fragment_counter.h"
#include "server/handshake.h"
#include "server/support/scripted_service.h"
#include "server/support/socket_client.h"
#include "support/comes_true.h"

namespace parlance {
namespace {

using std::chrono::milliseconds;
using test::close_frame;
using test::comes_true;
using test::frame;
using test::SocketClient;

// What the talkers of a test were told.
struct SocketLog {
  std::mutex mutex;
  std::vector<std::shared_ptr<SocketReply>> replies;
  std::vector<uint16_t> codes;  // of those that have ended
  int n_drained = 0;
  std::atomic<int> n_opened{0}, n_closed{0}, n_messages{0};

  std::shared_ptr<SocketReply> last() {
    const std::lock_guard lock(mutex);
    return replies.back();
  }
  std::vector<uint16_t> ended() {
    const std::lock_guard lock(mutex);
    return codes;
  }
};

class EchoTalker final : public SocketTalker {
 public:
  explicit EchoTalker(SocketLog& log) : log_(log) {}

  void opened(std::shared_ptr<SocketReply> reply) override {
    reply_ = reply;
    const std::lock_guard lock(log_.mutex);
    log_.replies.push_back(std::move(reply));
    ++log_.n_opened;
  }
  void take_text(std::string message) override {
    ++log_.n_messages;
    if (message == "end") return reply_->close(1000, "as you say");
    reply_->send(std::move(message));
  }
  void take_binary(std::string message) override {
    ++log_.n_messages;
    reply_->send_binary(std::move(message));
  }
  void drain() override {
    const std::lock_guard lock(log_.mutex);
    ++log_.n_drained;
  }
  void closed(uint16_t code) override {
    reply_.reset();
    const std::lock_guard lock(log_.mutex);
    log_.codes.push_back(code);
    ++log_.n_closed;
  }

 private:
  SocketLog& log_;
  std::shared_ptr<SocketReply> reply_;
};

class EchoService final : public test::ScriptedService {
 public:
  Admission admit(const HttpRequest& head) override {
    if (head.path != "/socket") return ScriptedService::admit(head);
    if (const auto error = check_handshake(head)) return {.refusal = answer_of(*error)};
    Admission admission{.refusal = {}, .talker = std::make_shared<EchoTalker>(log)};
    for (const std::string& protocol : offered_protocols(head)) {
      if (protocol == "realtime") admission.protocol = protocol;
    }
    return admission;
  }
  void complete(const HttpRequest& request, HttpAnswer& answer) override {
    answer.fields.push_back({"x-request-id", request.id});
  }

  SocketLog log;
};

class ServerSocket : public testing::Test {
 protected:
  ServerSocket() { options_.port = 0; }
  void SetUp() override { open(); }
  void TearDown() override {
    listener_.reset();
    EXPECT_EQ(log().n_opened, log().n_closed);  // every talker hears of the end, once
  }
  void open() {
    listener_.reset();
    auto listener = Listener::open(options_, service_);
    ASSERT_TRUE(listener) << listener.error().message;
    listener_ = *std::move(listener);
  }
  uint16_t port() const { return listener_->port(); }
  SocketLog& log() { return service_.log; }
  SocketClient connect() {
    const int n_before = log().n_opened;
    SocketClient client(port(), "/socket");
    EXPECT_EQ(client.opening().status, 101);
    EXPECT_TRUE(comes_true([&] { return log().n_opened > n_before; }));
    return client;
  }
  bool all_are_gone() {
    return comes_true([&] {
      return listener_->counts().n_active + listener_->counts().n_idle == 0 &&
             log().n_opened == log().n_closed;
    });
  }
  // The code that the last socket ended with, once that many have.
  int code_of_end(size_t n) {
    EXPECT_TRUE(comes_true([&] { return log().ended().size() >= n; }));
    return log().ended().empty() ? -1 : log().ended().back();
  }

  ListenerOptions options_;
  EchoService service_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(ServerSocket, TheHandshakeIsAnsweredAsTheStandardSays) {
  SocketClient client(
      port(), "/socket",
      {{"sec-websocket-protocol", "other, realtime, openai-insecure-api-key.0123456789abcdef"},
       {"sec-websocket-extensions", "permessage-deflate"},
       {"x-request-id", "mine"}});
  const test::ClientAnswer answer = client.opening();
  EXPECT_EQ(answer.status, 101);
  EXPECT_EQ(answer.field("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");  // RFC 6455, section 1.3
  EXPECT_EQ(answer.field("upgrade"), "websocket");
  EXPECT_EQ(answer.field("sec-websocket-protocol"), "realtime");
  EXPECT_FALSE(answer.fields.contains("sec-websocket-extensions"));
  EXPECT_EQ(answer.field("x-request-id"), "mine");
  for (const auto& [name, value] : answer.fields)
    EXPECT_EQ(value.find("0123456789abcdef"), std::string::npos);

  SocketClient plain(port(), "/socket");
  EXPECT_FALSE(plain.opening().fields.contains("sec-websocket-protocol"));
}

TEST_F(ServerSocket, WhatIsNoHandshakeIsAnsweredInHttp) {
  const auto status_with = [&](std::map<std::string, std::string> fields) {
    SocketClient client(port(), "/socket", std::move(fields));
    return client.answer().status;
  };
  EXPECT_EQ(status_with({{"upgrade", "h2c"}}), 426);
  EXPECT_EQ(status_with({{"sec-websocket-version", "8"}}), 426);
  EXPECT_EQ(status_with({{"connection", "keep-alive"}}), 400);
  EXPECT_EQ(status_with({{"sec-websocket-key", "c2hvcnQ="}}), 400);
  EXPECT_EQ(status_with({{"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZ!=="}}), 400);
  const test::ClientAnswer plain = test::ask(port(), "GET", "/socket");
  EXPECT_EQ(plain.status, 426);
  EXPECT_EQ(plain.field("sec-websocket-version"), "13");
  EXPECT_EQ(plain.field("upgrade"), "websocket");
  EXPECT_EQ(log().n_opened, 0);
}

// Frames of every kind, and what comes back of them.
struct Exchange {
  std::string sent;
  std::vector<test::Frame> answers;
};

Exchange some_exchange() {
  Exchange all;
  const auto add = [&](std::string bytes, int opcode, std::string payload) {
    all.sent += bytes;
    if (opcode >= 0) all.answers.push_back({.opcode = opcode, .payload = std::move(payload)});
  };
  const std::string text = "gr\xc3\xbc\xc3\x9f dich \xf0\x9f\x91\x8b";
  add(frame(test::kText, text), test::kText, text);
  add(frame(test::kText, ""), test::kText, "");
  add(frame(test::kPing, "are you there"), test::kPong, "are you there");
  add(frame(test::kPong, "not asked for"), -1, "");
  add(frame(test::kText, text.substr(0, 3), {.is_final = false}), -1, "");
  add(frame(test::kPing, "in between"), test::kPong, "in between");
  add(frame(test::kContinuation, "", {.is_final = false}), -1, "");
  add(frame(test::kContinuation, text.substr(3, 10), {.is_final = false}), -1, "");
  add(frame(test::kContinuation, text.substr(13)), test::kText, text);
  const std::string middle(130, '\xff');
  add(frame(test::kBinary, middle), test::kBinary, middle);
  return all;
}

// Pongs may overtake what the talker answers: they are compared with each other only.
void expect_answers(SocketClient& client, const Exchange& exchange) {
  std::vector<std::string> pongs, others, expected_pongs, expected_others;
  const auto sort_in = [](const test::Frame& one, auto& pings, auto& rest) {
    (one.opcode == test::kPong ? pings : rest).push_back(std::to_string(one.opcode) + one.payload);
  };
  for (const test::Frame& one : exchange.answers) {
    sort_in(one, expected_pongs, expected_others);
    const test::Frame got = client.next();
    EXPECT_TRUE(got.is_final);
    sort_in(got, pongs, others);
  }
  EXPECT_EQ(pongs, expected_pongs);
  EXPECT_EQ(others, expected_others);
}

// What a client closes with; it is answered.
void expect_close(SocketClient& client, size_t cut) {
  const std::string bytes = close_frame(1000, "done");
  client.send(std::string_view(bytes).substr(0, cut));
  if (cut < bytes.size()) std::this_thread::sleep_for(milliseconds(1));
  client.send(std::string_view(bytes).substr(cut));
  EXPECT_EQ(client.next().code(), 1000);
  EXPECT_TRUE(client.bytes().is_closed());
}

TEST_F(ServerSocket, FramesMayBeCutAnywhere) {
  const Exchange exchange = some_exchange();
  for (size_t cut = 0; cut <= exchange.sent.size(); ++cut) {
    SCOPED_TRACE(cut);
    // What is before the cut comes with the request itself.
    SocketClient client(port(), "/socket", {}, exchange.sent.substr(0, cut));
    EXPECT_EQ(client.opening().status, 101);
    client.send(std::string_view(exchange.sent).substr(cut));
    expect_answers(client, exchange);
    expect_close(client, std::min(cut, close_frame(1000, "done").size()));
  }
  for (size_t cut = 1; cut < exchange.sent.size(); cut += 3) {
    SCOPED_TRACE(cut);
    SocketClient client = connect();
    client.send(std::string_view(exchange.sent).substr(0, cut));
    std::this_thread::sleep_for(milliseconds(1));  // so that the parts arrive one after the other
    client.send(std::string_view(exchange.sent).substr(cut));
    expect_answers(client, exchange);
  }
  SocketClient client = connect();
  for (const char byte : exchange.sent) client.send(std::string_view(&byte, 1));
  expect_answers(client, exchange);
}

TEST_F(ServerSocket, MessagesOfEveryLengthComeBackUpToTheLimit) {
  options_.sockets.n_message_bytes = 200000;
  open();
  SocketClient client = connect();
  for (const size_t n : {0, 1, 125, 126, 127, 511, 512, 513, 1535, 1536, 65535, 65536, 131072, 200000}) {
    std::string message(n, 'a');
    for (size_t i = 0; i < n; ++i) message[i] = static_cast<char>('a' + i % 23);
    client.send(frame(test::kText, message));
    EXPECT_EQ(client.next_message().payload, message) << n;
    const size_t half = n / 2;
    client.send(frame(test::kBinary, message.substr(0, half), {.is_final = false}) +
                frame(test::kContinuation, message.substr(half)));
    EXPECT_EQ(client.next_message().payload, message) << n;
  }
  client.send(frame(test::kText, std::string(200001, 'x')));
  EXPECT_EQ(client.next_message().code(), 1009);
  client.send(close_frame(1009));
  EXPECT_EQ(code_of_end(1), 1009);

  SocketClient in_parts = connect();
  in_parts.send(frame(test::kText, std::string(150000, 'x'), {.is_final = false}) +
                frame(test::kContinuation, std::string(50001, 'x')));
  EXPECT_EQ(in_parts.next_message().code(), 1009);
  in_parts.send(close_frame(1009));
  EXPECT_EQ(code_of_end(2), 1009);
}

TEST_F(ServerSocket, AMessageMayComeInSoManyFragments) {
  const auto fragments = [](size_t n, std::string_view each) {
    std::string bytes = frame(test::kText, each, {.is_final = false});
    for (size_t i = 2; i < n; ++i) {
      bytes += frame(test::kContinuation, each, {.is_final = false});
      if (i % 100 == 0) bytes += frame(test::kPing, "");
    }
    return bytes + frame(test::kContinuation, each);
  };
  for (const std::string each : {"", "ab"}) {
    SCOPED_TRACE(each);
    SocketClient client = connect();
    for (int i = 0; i < 2; ++i) {  // each message anew
      client.send(fragments(1024, each));
      EXPECT_EQ(client.next_message().payload.size(), 1024 * each.size());
    }
    const size_t n_ended = log().ended().size();
    client.send(fragments(1025, each));
    EXPECT_EQ(client.next_message().code(), 1009);
    client.send(close_frame(1009));
    EXPECT_EQ(code_of_end(n_ended + 1), 1009);
  }
}

TEST_F(ServerSocket, WhatNoFrameMayBeEndsTheSocket) {
  const std::string beginning = frame(test::kText, "a", {.is_final = false});
  const std::map<std::string, std::string> cases = {
      {"not masked", frame(test::kText, "a", {.is_masked = false})},
      {"first reserved bit", frame(test::kText, "a", {.reserved = 4})},
      {"second reserved bit", frame(test::kText, "a", {.reserved = 2})},
      {"third reserved bit", frame(test::kText, "a", {.reserved = 1})},
      {"opcode 3", frame(3, "a")},
      {"opcode 7", frame(7, "a")},
      {"opcode 11", frame(11, "")},
      {"opcode 15", frame(15, "")},
      {"nothing to go on with", frame(test::kContinuation, "a")},
      {"a new message within one", beginning + frame(test::kText, "b")},
      {"a ping in fragments", frame(test::kPing, "a", {.is_final = false})},
      {"a ping of 126 bytes", frame(test::kPing, std::string(126, 'a'))},
      {"a close of 126 bytes", close_frame(1000, std::string(124, 'a'))},
      {"a close of one byte", frame(test::kClose, "a")},
      {"a close with a code that is never sent", close_frame(1005)},
      {"a close with a code that does not exist", close_frame(999)},
      {"a close whose reason is no text", close_frame(1000, "\xff")},
      {"a length in two bytes that fits one", frame(test::kText, "a", {.length_bytes = 2})},
      {"a length in eight bytes that fits two", frame(test::kText, "a", {.length_bytes = 8})},
  };
  for (const auto& [what, bytes] : cases) {
    SCOPED_TRACE(what);
    const size_t n_before = log().ended().size();
    SocketClient client = connect();
    client.send(bytes);
    const test::Frame got = client.next_message();
    EXPECT_EQ(got.opcode, test::kClose);
    EXPECT_EQ(got.code(), 1002);
    EXPECT_TRUE(client.bytes().is_closed());
    EXPECT_EQ(client.next(0).opcode, -1);
    (void)code_of_end(n_before);
  }
  EXPECT_EQ(log().n_messages, 0);
}

TEST_F(ServerSocket, TextIsUtf8HoweverItIsCut) {
  const std::map<std::string, std::string> cases = {
      {"a byte that begins nothing", "abc\xff"}, {"a continuation alone", "a\x80z"},
      {"an overlong form", "\xc0\xaf"},          {"a surrogate", "x\xed\xa0\x80y"},
      {"beyond the last", "\xf4\x90\x80\x80"},   {"five bytes", "\xf8\x88\x80\x80\x80"},
      {"an end too early", "abc\xf0\x9f\x91"},
  };
  for (const auto& [what, text] : cases) {
    for (size_t cut = 0; cut <= text.size(); ++cut) {
      SCOPED_TRACE(what + " cut at " + std::to_string(cut));
      SocketClient client = connect();
      client.send(frame(test::kText, text.substr(0, cut), {.is_final = false}) +
                  frame(test::kContinuation, text.substr(cut)));
      EXPECT_EQ(client.next_message().code(), 1007);
    }
  }
  EXPECT_TRUE(all_are_gone());
  for (const uint16_t code : log().ended()) EXPECT_EQ(code, 1007);
  EXPECT_EQ(log().n_messages, 0);
}

TEST_F(ServerSocket, EitherSideMayCloseAndIsAnswered) {
  SocketClient with_code = connect();
  with_code.send(close_frame(4321, "mine"));
  EXPECT_EQ(with_code.next_message().code(), 4321);
  EXPECT_TRUE(with_code.bytes().is_closed());
  EXPECT_EQ(code_of_end(1), 4321);

  SocketClient without = connect();
  without.send(frame(test::kClose, ""));
  EXPECT_EQ(without.next_message().opcode, test::kClose);
  EXPECT_EQ(code_of_end(2), 1005);

  // Ours comes behind what was sent; what comes later is not looked at.
  SocketClient told = connect();
  log().last()->send(std::string(300000, 'x'));
  log().last()->send("before");
  log().last()->close(1000, std::string(122, 'r') + "\xc3\xbc and more");
  log().last()->send("behind");
  EXPECT_EQ(told.next_message().payload.size(), 300000u);
  EXPECT_EQ(told.next_message().payload, "before");
  told.send(frame(test::kText, "too late"));
  const test::Frame close = told.next_message();
  EXPECT_EQ(close.opcode, test::kClose);
  EXPECT_EQ(close.payload.substr(2), std::string(122, 'r'));  // no half of a character
  told.send(close_frame(1000));
  EXPECT_TRUE(told.bytes().is_closed());
  EXPECT_EQ(code_of_end(3), 1000);
  EXPECT_EQ(log().n_messages, 0);
  EXPECT_EQ(log().last()->n_unsent(), 0u);
  log().last()->send("to nobody");  // the way back may be kept
  EXPECT_TRUE(comes_true([&] { return log().last()->n_unsent() == 0; }));
}

TEST_F(ServerSocket, WhoDoesNotAnswerACloseIsCut) {
  options_.sockets.close_time = milliseconds(50);
  open();
  SocketClient client = connect();
  client.send(frame(test::kText, "end"));
  EXPECT_EQ(client.next_message().code(), 1000);
  EXPECT_EQ(code_of_end(1), 1000);
  // Nor after an error, however much it goes on sending.
  SocketClient wrong = connect();
  wrong.send(frame(3, ""));
  EXPECT_EQ(wrong.next_message().code(), 1002);
  wrong.send(frame(test::kText, "and on"));
  EXPECT_EQ(code_of_end(2), 1002);
  EXPECT_TRUE(all_are_gone());
}

TEST_F(ServerSocket, WhoLeavesAtAnyMomentIsNoticed) {
  const std::string sent = some_exchange().sent;
  for (const bool is_reset : {false, true}) {
    for (size_t n = 0; n <= sent.size(); n += 2) {
      SocketClient client(port(), "/socket", {}, sent.substr(0, n));
      if (is_reset) client.bytes().reset();
      if (n % 3 == 0) client.opening();
    }
  }
  EXPECT_TRUE(all_are_gone());
}

TEST_F(ServerSocket, TenThousandMessagesComeBackInTheirOrder) {
  constexpr int kMessages = 10000;
  SocketClient client = connect();
  std::thread sender([&] {
    std::string bytes;
    for (int i = 0; i < kMessages; ++i)
      bytes += frame(i % 2 ? test::kText : test::kBinary, std::to_string(i));
    client.send(bytes);
  });
  for (int i = 0; i < kMessages; ++i) {
    const test::Frame got = client.next_message();
    ASSERT_EQ(got.payload, std::to_string(i));
    ASSERT_EQ(got.opcode, i % 2 ? test::kText : test::kBinary);
  }
  sender.join();
}

TEST_F(ServerSocket, WhoReadsTooSlowlyIsCutAndTheTalkerMayWait) {
  options_.sockets.write_time = milliseconds(150);
  open();
  SocketClient client = connect();
  const auto reply = log().last();
  std::atomic<int> n_taken{0};
  size_t most_unsent = 0;  // the client may be cut before the last message is written
  for (int i = 0; i < 64; ++i) {
    reply->send(std::string(size_t{1} << 20, 'x'));
    most_unsent = std::max(most_unsent, reply->n_unsent());
  }
  EXPECT_GT(most_unsent, Reply::kLittleUnsent);
  reply->when_taken([&] { ++n_taken; });
  EXPECT_EQ(code_of_end(1), 1008);
  EXPECT_TRUE(comes_true([&] { return n_taken == 1 && reply->n_unsent() == 0; }));

  SocketClient reads = connect();
  log().last()->send(std::string(size_t{1} << 20, 'x'));
  log().last()->when_taken([&] { ++n_taken; });
  EXPECT_EQ(reads.next_message().payload.size(), size_t{1} << 20);
  EXPECT_TRUE(comes_true([&] { return n_taken == 2; }));
}

TEST_F(ServerSocket, AHeldClientHasToWait) {
  options_.sockets.ping_time = milliseconds(20);
  options_.sockets.silence_time = milliseconds(300);
  open();
  SocketClient client = connect();
  client.send(frame(test::kText, "one"));
  EXPECT_EQ(client.next_message().payload, "one");
  log().last()->hold(true);
  client.send(frame(test::kText, "two"));  // may still be read, if reading had begun
  client.send(frame(test::kText, "three"));
  std::this_thread::sleep_for(milliseconds(400));
  EXPECT_LT(log().n_messages, 3);
  EXPECT_EQ(log().n_closed, 0);  // silence is not its fault
  log().last()->hold(false);
  EXPECT_EQ(client.next_message().payload, "two");
  EXPECT_EQ(client.next_message().payload, "three");
}

TEST_F(ServerSocket, WhoAnswersPingsStaysUntilItIsIdleAndWhoDoesNotIsGone) {
  options_.sockets.ping_time = milliseconds(20);
  options_.sockets.silence_time = milliseconds(300);  // a busy machine may be late to answer
  open();
  SocketClient silent = connect();
  EXPECT_EQ(silent.next().opcode, test::kPing);
  EXPECT_EQ(code_of_end(1), 1006);

  options_.sockets.idle_time = milliseconds(700);
  open();
  SocketClient answers = connect();
  int n_pings = 0;
  test::Frame got;
  while ((got = answers.next()).opcode == test::kPing) {
    ++n_pings;
    answers.send(frame(test::kPong, got.payload));
  }
  EXPECT_EQ(got.code(), 1000);
  EXPECT_EQ(got.payload.substr(2), "idle");
  EXPECT_GE(n_pings, 5);
  answers.send(close_frame(1000));
  EXPECT_EQ(code_of_end(2), 1000);
}

TEST_F(ServerSocket, AFloodOfPingsIsAnsweredAndCostsNoMemory) {
  SocketClient client = connect();
  [[maybe_unused]] const size_t before = resident_memory();
  std::string flood;
  for (int i = 0; i < 1000; ++i) flood += frame(test::kPing, std::string(100, 'p'));
  std::thread sender([&] {
    for (int i = 0; i < 20; ++i) client.send(flood);
    client.send(frame(test::kText, "still there"));
  });
  int n_pongs = 0;
  test::Frame got;
  while ((got = client.next()).opcode == test::kPong) ++n_pongs;
  sender.join();
  EXPECT_EQ(n_pongs, 20000);
  EXPECT_EQ(got.payload, "still there");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(resident_memory() - before, size_t{8} << 20);
#endif
}

TEST_F(ServerSocket, TheEndOfTheServerIsToldInGoodOrder) {
  SocketClient client = connect();
  listener_->drain_sockets();
  EXPECT_TRUE(comes_true([&] {
    const std::lock_guard lock(log().mutex);
    return log().n_drained == 1;
  }));
  client.send(frame(test::kText, "still"));  // what is under way goes on
  EXPECT_EQ(client.next_message().payload, "still");
  listener_->close_sockets(SocketCode::going_away, "the server ends");
  EXPECT_EQ(client.next_message().code(), 1001);
  client.send(close_frame(1001));
  EXPECT_EQ(code_of_end(1), 1001);

  SocketClient cut = connect();
  listener_.reset();
  EXPECT_EQ(code_of_end(2), 1006);
}

TEST_F(ServerSocket, AnIdleSocketCostsLittle) {
  std::vector<std::unique_ptr<SocketClient>> clients;
  const auto connect_many = [&](size_t n) {
    for (size_t i = 0; i < n; ++i) {
      clients.push_back(std::make_unique<SocketClient>(port(), "/socket"));
      clients.back()->opening();
      clients.back()->send(frame(test::kText, "hello"));
      clients.back()->next_message();
    }
  };
  connect_many(50);
  [[maybe_unused]] const size_t before = resident_memory();
  connect_many(200);
  EXPECT_EQ(listener_->counts().n_active, 250);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(resident_memory() - before, 200 * (size_t{32} << 10));
#endif
  clients.clear();
  EXPECT_TRUE(all_are_gone());
}

TEST(ServerFragments, AreCountedHoweverTheBytesAreCut) {
  const std::string bytes = frame(test::kText, "ab", {.is_final = false}) + frame(test::kPing, "x") +
                            frame(test::kContinuation, std::string(300, 'x'), {.is_final = false}) +
                            frame(test::kContinuation, "") + frame(test::kBinary, std::string(70000, 'y')) +
                            frame(test::kText, "a", {.is_final = false, .is_masked = false}) +
                            frame(test::kContinuation, "");
  for (const size_t step : {1, 2, 3, 7, 1000, 100000}) {
    FragmentCounter counter;
    for (size_t at = 0; at < bytes.size(); at += step) counter.take(std::string_view(bytes).substr(at, step));
    EXPECT_EQ(counter.n_most(), 3u);
  }
}

}  // namespace
}  // namespace parlance
