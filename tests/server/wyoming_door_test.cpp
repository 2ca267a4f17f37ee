// The Wyoming protocol's sockets with services that say what the test wants: who may come, who is late, who
// leaves.
#include "server/wyoming_door.h"

#include <thread>

#include "gtest/gtest.h"
#include "server/support/client.h"
#include "server/support/scripted_service.h"
#include "support/comes_true.h"

namespace parlance {
namespace {

using std::chrono::milliseconds;
using test::Client;
using test::comes_true;

class WyomingSockets : public testing::Test {
 protected:
  WyomingSockets() {
    options_.port = 0;
    services_.info = [] { return wyoming_bytes({.type = "info"}); };
    services_.hear = services_.speak_along = [this](const WyomingEvent&, JobPort& port) -> Result<void> {
      while (port.next()) {
      }
      n_cancelled_ += port.ticket().cancelled();
      port.send({.type = "done"});
      return {};
    };
    services_.answer = services_.hear;
    services_.speak = [this](const WyomingEvent& first, JobPort& port) -> Result<void> {
      if (first.text("text") == "wrong") return fail(ErrorCode::not_found, "there is no such voice");
      if (first.text("text") == "for ever") {
        while (port.send({.type = "piece", .payload = std::string(10000, 'p')})) {
        }
        ++n_cancelled_;
      }
      port.send({.type = "done"});
      return {};
    };
  }
  void open() {
    door_.reset();
    auto door = WyomingDoor::open(options_, services_, [this](std::string_view) { ++n_events_; });
    ASSERT_TRUE(door) << door.error().message;
    door_ = *std::move(door);
  }
  Client connect() { return Client(door_->port()); }
  static std::string bytes_of(const char* type, const char* text = "") {
    return wyoming_bytes({.type = type, .data = Json::object({{"text", text}})});
  }
  // All that comes until the connection ends.
  static std::string rest(Client& client) { return client.take(SIZE_MAX, 5000); }
  bool all_are_gone() {
    return comes_true([&] { return door_->n_connections() == 0 && door_->n_at_work() == 0; });
  }

  WyomingDoorOptions options_;
  WyomingServices services_;
  std::atomic<int> n_cancelled_{0}, n_events_{0};
  std::unique_ptr<WyomingDoor> door_;
};

TEST_F(WyomingSockets, EventsMayBeCutAnywhere) {
  open();
  const std::string bytes = bytes_of("ping", "a") + bytes_of("synthesize", "b") + bytes_of("describe");
  for (size_t cut = 1; cut < bytes.size(); cut += 5) {
    Client client = connect();
    client.send(std::string_view(bytes).substr(0, cut));
    std::this_thread::sleep_for(milliseconds(1));
    client.send(std::string_view(bytes).substr(cut));
    client.end();
    const std::string all = rest(client);
    for (const char* type : {"pong", "done", "info"}) EXPECT_NE(all.find(type), std::string::npos) << cut;
  }
  EXPECT_TRUE(all_are_gone());
  EXPECT_GT(n_events_, 10);
}

TEST_F(WyomingSockets, ErrorsAreSeenAlthoughTheClientStillSends) {
  open();
  for (const std::string& bad :
       {bytes_of("synthesize", "wrong"), std::string("{\"type\": \"x\", \"data_length\": 2}\n[]"),
        std::string("GET / HTTP/1.1\r\n"), std::string(70000, '{')}) {
    Client client = connect();
    std::string more;
    for (int i = 0; i < 5000; ++i) more += bytes_of("ping");
    client.send(bad + more);
    const std::string told = rest(client);
    EXPECT_EQ(told.find("error") != std::string::npos, bad.starts_with("{\"")) << told;
  }
  EXPECT_TRUE(all_are_gone());
}

TEST_F(WyomingSockets, WhoIsLateIsCut) {
  options_.event_time = options_.idle_time = options_.input_time = milliseconds(60);
  options_.write_time = milliseconds(120);
  open();
  for (const std::string& beginning : {std::string(), std::string("{\"type\""), bytes_of("audio-start")}) {
    Client client = connect();
    client.send(beginning);
    rest(client);
  }
  EXPECT_TRUE(all_are_gone());
  Client does_not_read = connect();
  does_not_read.send(bytes_of("synthesize", "for ever"));
  EXPECT_TRUE(comes_true([&] { return n_cancelled_ >= 2; }));
  EXPECT_TRUE(all_are_gone());
}

TEST_F(WyomingSockets, WorkEndsWithTheConnection) {
  open();
  {
    Client client = connect();
    client.send(bytes_of("synthesize", "for ever"));
    EXPECT_TRUE(comes_true([&] { return door_->n_at_work() == 1; }));
    client.reset();
  }
  EXPECT_TRUE(comes_true([&] { return n_cancelled_ == 1; }));
  EXPECT_TRUE(all_are_gone());
}

TEST_F(WyomingSockets, ThereIsRoomForSoMany) {
  options_.n_connections = 3;
  open();
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(connect());
    clients.back().send(bytes_of("describe"));
    EXPECT_TRUE(clients.back().receive());
  }
  Client one_more = connect();
  EXPECT_TRUE(one_more.is_closed());
  clients.pop_back();
  EXPECT_TRUE(comes_true([&] { return door_->n_connections() == 2; }));
  Client again = connect();
  again.send(bytes_of("describe"));
  EXPECT_TRUE(again.receive());
}

TEST_F(WyomingSockets, ADrainFinishesWhatWasBegun) {
  open();
  std::optional<Client> idle(connect()), speaks(connect());
  idle->send(bytes_of("describe"));
  EXPECT_TRUE(idle->receive());
  speaks->send(bytes_of("synthesize-start"));
  EXPECT_TRUE(comes_true([&] { return door_->n_at_work() == 1; }));
  door_->drain();
  rest(*idle);
  idle.reset();
  EXPECT_NE(rest(*speaks).find("done"), std::string::npos);
  speaks.reset();
  EXPECT_EQ(n_cancelled_, 0);
  EXPECT_TRUE(all_are_gone());
}

TEST(WyomingAddress, OthersNeedToBeAllowed) {
  const auto refused = [](const char* address, std::vector<std::string> allowed = {}) {
    const auto options = wyoming_door_options(address, std::move(allowed));
    return options ? "" : options.error().message;
  };
  EXPECT_EQ(refused("127.0.0.1:10300"), "");
  EXPECT_EQ(refused("localhost:0"), "");
  EXPECT_EQ(refused("[::1]:10300"), "");
  EXPECT_EQ(wyoming_door_options("[::1]:10300", {})->host, "::1");
  EXPECT_NE(refused("0.0.0.0:10300").find("--wyoming-allow"), std::string::npos);
  EXPECT_EQ(refused("0.0.0.0:10300", {"192.168.0.0/16", "fd00::/8"}), "");
  for (const char* bad : {"", "10300", "here:10300", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:"}) {
    EXPECT_NE(refused(bad).find("--wyoming"), std::string::npos) << bad;
  }
  EXPECT_NE(refused("127.0.0.1:1", {"192.168.0.0/33"}).find("--wyoming-allow"), std::string::npos);
}

}  // namespace
}  // namespace parlance
