// What fits on the line of what is being heard.
#include "cli/terminal/live_line.h"

#include <sstream>

#include "gtest/gtest.h"

namespace parlance {
namespace {

TEST(LiveLineTest, WhatFitsIsShownWhole) {
  EXPECT_EQ(end_of({"", ""}, 10), (LiveText{"", ""}));
  EXPECT_EQ(end_of({"hello ", "worl"}, 10), (LiveText{"hello ", "worl"}));
}

TEST(LiveLineTest, TheEndIsKept) {
  EXPECT_EQ(end_of({"hello ", "world"}, 10), (LiveText{"…llo ", "world"}));
  EXPECT_EQ(end_of({"hello ", "world"}, 6), (LiveText{"", "…world"}));
  EXPECT_EQ(end_of({"hello ", "world"}, 3), (LiveText{"", "…ld"}));
  EXPECT_EQ(end_of({"hello", ""}, 3), (LiveText{"…lo", ""}));
}

TEST(LiveLineTest, WideLettersTakeTwoColumns) {
  EXPECT_EQ(end_of({"你好", "世界"}, 8), (LiveText{"你好", "世界"}));
  EXPECT_EQ(end_of({"你好", "世界"}, 7), (LiveText{"…好", "世界"}));
  EXPECT_EQ(end_of({"你好", "世界"}, 6), (LiveText{"", "…世界"}));
}

TEST(LiveLineTest, NothingSteersTheTerminal) {
  EXPECT_EQ(end_of({"a\x1b[2J", "\n\xff"}, 20), (LiveText{"a [2J", " \xff"}));
}

TEST(LiveLineTest, IsWrittenOverAndCleared) {
  std::istringstream in;
  std::ostringstream out, err;
  Console io{.in = in, .out = out, .err = err, .out_is_terminal = true, .out_has_colour = true, .width = 12};
  {
    LiveLine line(io);
    line.clear();
    EXPECT_EQ(out.str(), "");
    line.show({"hello ", "world"});
    EXPECT_EQ(out.str(), "\r\x1b[Khello \x1b[2mworld\x1b[0m");
    out.str("");
  }
  EXPECT_EQ(out.str(), "\r\x1b[K");

  out.str("");
  io.out_is_terminal = false;
  LiveLine(io).show({"hello ", "world"});
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace parlance
