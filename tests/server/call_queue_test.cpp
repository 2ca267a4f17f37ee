#include "server/call_queue.h"

#include <boost/asio/post.hpp>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace parlance {
namespace {

TEST(CallQueue, KeepsTheOrderAlsoOfWhatItsOwnThreadPosts) {
  boost::asio::io_context io(1);
  const auto queue = std::make_shared<CallQueue>();
  std::string order;
  const auto post = [&](char name) { queue->post(io, [&order, name] { order += name; }); };
  boost::asio::post(io, [&] {
    post('a');
    std::thread([&] { post('b'); }).join();
    post('c');
    std::thread([&] { post('d'); }).join();
  });
  io.run();
  EXPECT_EQ(order, "abcd");
}

TEST(CallQueue, TakesCallsWhileItMakesThem) {
  boost::asio::io_context io(1);
  const auto queue = std::make_shared<CallQueue>();
  std::vector<int> order;
  queue->post(io, [&] {
    order.push_back(1);
    queue->post(io, [&] { order.push_back(3); });
  });
  queue->post(io, [&] { order.push_back(2); });
  io.run();
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(CallQueue, DropsWhatNobodyMakes) {
  const auto watched = std::make_shared<int>(0);
  {
    boost::asio::io_context io(1);
    const auto queue = std::make_shared<CallQueue>();
    queue->post(io, [watched] { FAIL(); });
    EXPECT_EQ(watched.use_count(), 2);
  }
  EXPECT_EQ(watched.use_count(), 1);
}

}  // namespace
}  // namespace parlance
