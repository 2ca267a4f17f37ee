// The listener alone, with a service that says what the test wants: requests in every split, clients that
// leave or do not read, and what a connection costs.
#include "server/listener.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/os/memory.h"
#include "gtest/gtest.h"
#include "server/support/client.h"
#include "server/support/scripted_service.h"
#include "support/comes_true.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

using std::chrono::milliseconds;

using test::comes_true;
using test::ScriptedService;

// On one thread, and on several.
class ServerListener : public testing::TestWithParam<int> {
 protected:
  ServerListener() {
    options_.port = 0;
    options_.n_threads = GetParam();
  }
  void SetUp() override { open(); }
  void open() {
    listener_.reset();
    auto listener = Listener::open(options_, service_);
    ASSERT_TRUE(listener) << listener.error().message;
    listener_ = *std::move(listener);
  }
  uint16_t port() const { return listener_->port(); }
  bool all_are_gone() const {
    return comes_true([&] { return listener_->counts().n_active + listener_->counts().n_idle == 0; });
  }

  ListenerOptions options_;
  ScriptedService service_;
  std::unique_ptr<Listener> listener_;
};

TEST_P(ServerListener, ARequestMayBeCutAnywhereAndOthersMayFollowIt) {
  const std::string bytes =
      "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nfirst\r\n"
      "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nsec\r\n3\r\nond\r\n0\r\nT: "
      "1\r\n\r\n"
      "GET /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const auto check = [](test::Client& client) {
    EXPECT_EQ(client.answer().body, "POST /a first");
    EXPECT_EQ(client.answer().body, "POST /b second");
    EXPECT_EQ(client.answer().body, "GET /c ");
    EXPECT_TRUE(client.is_closed());
  };
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    SCOPED_TRACE(cut);
    test::Client client(port());
    client.send(std::string_view(bytes).substr(0, cut));
    std::this_thread::sleep_for(milliseconds(1));  // so that the parts arrive one after the other
    client.send(std::string_view(bytes).substr(cut));
    check(client);
  }
  test::Client client(port());
  for (const char byte : bytes) client.send(std::string_view(&byte, 1));
  check(client);
}

TEST_P(ServerListener, WhoLeavesIsNoticedAtEveryMoment) {
  for (const char* path : {"/hold", "/stream"}) {
    test::Client stays(port());
    std::optional<test::Client> leaves(std::in_place, port());
    const size_t n_before = service_.held().size();
    for (test::Client* one : {&stays, &*leaves}) {
      one->send(test::request_text("POST", path, port(), {}, "body"));
      ASSERT_TRUE(comes_true([&] { return service_.held().size() > n_before + (one == &stays ? 0 : 1); }));
    }
    const auto held = service_.held();
    leaves.reset();
    EXPECT_TRUE(comes_true([&] { return held[n_before + 1]->ticket().cancelled(); }));
    EXPECT_FALSE(held[n_before]->ticket().cancelled());
    held[n_before + 1]->write("for nobody");
    held[n_before]->write("");
    held[n_before]->break_off();
    stays.answer();
  }
  // In the middle of a head and of a body, and behind a request that nobody waits for.
  const std::string whole = test::request_text("POST", "/a", port(), {}, std::string(100, 'b'));
  for (size_t n = 0; n <= whole.size(); ++n) {
    test::Client client(port());
    client.send(std::string_view(whole).substr(0, n));
  }
  EXPECT_TRUE(all_are_gone());
}

TEST_P(ServerListener, WhoDoesNotReadIsTakenForGone) {
  options_.write_time = milliseconds(100);
  open();
  test::Client client(port());
  client.send(test::request_text("GET", "/stream", port()));
  ASSERT_TRUE(comes_true([&] { return service_.held().size() == 1; }));
  const auto reply = service_.held().front();
  ASSERT_TRUE(comes_true([&] { return reply->n_unsent() == 0; }));
  std::atomic<bool> was_told{false};
  size_t most_unsent = 0;  // the client may be cut before the last of it is written
  for (int i = 0; i < 400; ++i) {
    reply->write(std::string(size_t{64} << 10, 'x'));
    most_unsent = std::max(most_unsent, reply->n_unsent());
  }
  EXPECT_GT(most_unsent, Reply::kMuchUnsent);
  reply->when_taken([&] { was_told = true; });
  EXPECT_TRUE(comes_true([&] { return reply->ticket().cancelled() && was_told; }));
  EXPECT_TRUE(all_are_gone());
  EXPECT_EQ(service_.n_cut, 1);
}

TEST_P(ServerListener, WhoReadsSlowlyGetsAllOfIt) {
  test::Client client(port());
  client.send(test::request_text("GET", "/stream", port()));
  ASSERT_TRUE(comes_true([&] { return service_.held().size() == 1; }));
  const auto reply = service_.held().front();
  std::string sent = "begun";
  for (int i = 0; i < 100; ++i) {
    const std::string piece(size_t{40} << 10, static_cast<char>('a' + i % 26));
    reply->write(piece);
    sent += piece;
  }
  reply->end();
  reply->write("what comes too late");
  std::this_thread::sleep_for(milliseconds(20));
  const test::ClientAnswer answer = client.answer();
  EXPECT_TRUE(answer.is_whole);
  EXPECT_TRUE(answer.body == sent);
  EXPECT_EQ(reply->n_unsent(), 0u);
}

TEST_P(ServerListener, TheLastAnswerOfAConnectionSaysSo) {
  options_.n_requests_of_connection = 3;
  open();
  test::Client client(port());
  for (int i = 1; i <= 3; ++i) {
    client.send(test::request_text("GET", i == 2 ? "/refused" : "/a", port()));
    EXPECT_EQ(client.answer().field("connection"), i == 3 ? "close" : "") << i;
  }
  EXPECT_TRUE(client.is_closed());
  for (const char* path : {"/a", "/refused"}) {
    service_.drains = false;
    test::Client other(port());
    other.send(test::request_text("GET", path, port()));
    EXPECT_EQ(other.answer().field("connection"), "");
    service_.drains = true;
    other.send(test::request_text("GET", path, port()));
    EXPECT_EQ(other.answer().field("connection"), "close");
    EXPECT_TRUE(other.is_closed());
  }
}

TEST_P(ServerListener, LimitsHoldToTheByte) {
  const auto status_of = [&](const std::string& bytes) {
    test::Client client(port());
    client.send(bytes);
    return client.answer().status;
  };
  const auto line_of = [](size_t n) {
    const std::string rest = "GET / HTTP/1.1";
    return "GET /" + std::string(n - rest.size(), 'a') + " HTTP/1.1\r\nhost: x\r\n\r\n";
  };
  EXPECT_EQ(status_of(line_of(8192)), 200);
  EXPECT_EQ(status_of(line_of(8193)), 414);
  const auto post = [&](size_t n) {
    return test::request_text("POST", "/a", port(), {}, std::string(n, 'b'));
  };
  EXPECT_EQ(status_of(post(size_t{64} << 10)), 200);
  EXPECT_EQ(status_of(post((size_t{64} << 10) + 1)), 413);
  // A body within its limit, in chunks that are hundreds of times as large.
  std::string chunks = "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
  for (int i = 0; i < 4000; ++i) chunks += "1;" + std::string(200, 'e') + "\r\nb\r\n";
  EXPECT_EQ(status_of(chunks), 413);
}

TEST_P(ServerListener, WaitingCostsLittle) {
  std::vector<std::unique_ptr<test::Client>> clients;
  const auto connect = [&] {
    for (int i = 0; i < 200; ++i) {
      clients.push_back(std::make_unique<test::Client>(port()));
      clients.back()->send("GET / HTT");
    }
  };
  connect();  // what the first ones cost once
  ASSERT_TRUE(comes_true([&] { return listener_->counts().n_idle == 200; }));
  [[maybe_unused]] const size_t before = resident_memory();  // sanitizers keep more
  connect();
  ASSERT_TRUE(comes_true([&] { return listener_->counts().n_idle == 400; }));
  std::this_thread::sleep_for(milliseconds(50));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(resident_memory() - before, 200 * (size_t{16} << 10));
#endif
  clients.clear();
  EXPECT_TRUE(all_are_gone());
}

TEST_P(ServerListener, WhoIsIdleForLongestMakesRoom) {
  options_.n_connections = 8;
  open();
  std::vector<std::unique_ptr<test::Client>> clients;
  const auto connect = [&] {
    clients.push_back(std::make_unique<test::Client>(port()));
    clients.back()->send(test::request_text("GET", "/a", port()));
    return clients.back()->answer().status;
  };
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(connect(), 200) << i;
    // A thread may be slow to see that its answer is gone: they become idle in this order only one by one.
    EXPECT_TRUE(comes_true([&] { return listener_->counts().n_idle == std::min<int64_t>(i + 1, 8); })) << i;
  }
  for (size_t i = 0; i < clients.size(); ++i) EXPECT_EQ(clients[i]->is_closed(i < 4 ? 5000 : 50), i < 4) << i;
  EXPECT_TRUE(comes_true([&] { return listener_->counts().n_idle == 8; }));
  // Nobody goes who waits for an answer.
  for (size_t i = 4; i < clients.size(); ++i) clients[i]->send(test::request_text("GET", "/hold", port()));
  ASSERT_TRUE(comes_true([&] { return service_.held().size() == 8; }));
  EXPECT_EQ(connect(), 503);
  for (const auto& reply : service_.held()) reply->break_off();
}

// What it was answered by may be kept for longer, and with it what Asio knows of each thread.
TEST_P(ServerListener, MayEndWhileClientsCome) {
  for (int i = 0; i < 20; ++i) {
    open();
    std::vector<test::Client> waiting;
    for (int k = 0; k < GetParam(); ++k) {
      waiting.emplace_back(port());
      waiting.back().send(test::request_text("GET", "/hold", port()));
    }
    ASSERT_TRUE(comes_true([&] { return service_.held().size() == waiting.size(); }));
    std::atomic<bool> is_over{false};
    std::thread comes([&is_over, port = port()] {
      while (!is_over) const test::Client client(port);
    });
    std::this_thread::sleep_for(milliseconds(1));
    listener_.reset();
    is_over = true;
    comes.join();
    service_.let_go();
  }
}

TEST_P(ServerListener, WhoHasMoreThreadsThanOneUsesThem) {
  // Held up on one thread, connections of the others go on.
  ScriptedService::Hook hook;
  service_.hook = &hook;
  // The first is on the thread that takes connections; then it is each thread's turn.
  test::Client first(port());
  first.send(test::request_text("GET", "/a", port()));
  EXPECT_EQ(first.answer().status, 200);
  test::Client stuck(port());
  stuck.send(test::request_text("GET", "/stuck", port()));
  ASSERT_TRUE(comes_true([&] { return hook.is_reached.load(); }));
  std::vector<std::unique_ptr<test::Client>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<test::Client>(port()));
    clients.back()->send(test::request_text("GET", "/a", port()));
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    const bool is_held_up = GetParam() == 1 || i % 4 == 3;  // they are on the same thread
    EXPECT_NE(clients[i]->receive(is_held_up ? 100 : 5000), is_held_up) << i;
  }
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_GT(listener_->longest_silence(), milliseconds(90));
  hook.may_go_on = true;
  EXPECT_EQ(stuck.answer().status, 200);
  EXPECT_TRUE(comes_true([&] { return listener_->longest_silence() < milliseconds(1500); }));
}

INSTANTIATE_TEST_SUITE_P(Threads, ServerListener, testing::Values(1, 4));

class SocketFile : public testing::Test {
 protected:
  Result<std::unique_ptr<Listener>> open() {
    ListenerOptions options;
    options.host = "unix:" + path_;
    return Listener::open(options, service_);
  }

  test::TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "parlance.sock").string();
  ScriptedService service_;
};

TEST_F(SocketFile, IsListenedOnByItsOwnersGroupAlone) {
  auto listener = open();
  ASSERT_TRUE(listener) << listener.error().message;
  namespace fs = std::filesystem;
  EXPECT_EQ(fs::status(path_).permissions() & fs::perms::all, fs::perms(0660));
  test::Client client(path_);
  client.send(test::request_text("GET", "/a", 1));
  EXPECT_EQ(client.answer().body, "GET /a ");
  const auto second = open();
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find(path_), std::string::npos) << second.error().message;
  listener->reset();
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(SocketFile, ThatWasLeftBehindIsReplacedAndOtherFilesAreNot) {
  {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::close(socket);
  }
  EXPECT_TRUE(open());
  std::ofstream(path_) << "somebody's";
  EXPECT_FALSE(open());
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SocketFile, HasAPathThatTheSystemTakes) {
  for (const std::string& host : {std::string("unix:"), "unix:/" + std::string(200, 'a')}) {
    ListenerOptions options;
    options.host = host;
    const auto listener = Listener::open(options, service_);
    ASSERT_FALSE(listener);
    EXPECT_EQ(listener.error().code, ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace parlance
