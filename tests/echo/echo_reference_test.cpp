#include "echo/echo_reference.h"

#include <gtest/gtest.h>

#include <array>
#include <numbers>

#include "echo/sounds.h"

namespace parlance {
namespace {

TEST(EchoReference, IsReadAtAnyLagToTheSample) {
  const std::vector<float> played = hiss(1, 2 * kSecond, 0.1f);
  EchoReference reference(3);
  for (size_t i = 0; i + kEchoFrame <= played.size(); i += kEchoFrame)
    reference.push(std::span(played).subspan(i, kEchoFrame));
  for (const size_t n_back : {0, 1, 3}) {
    for (const size_t lag :
         {EchoReference::kAhead, size_t{17}, size_t{160}, size_t{4000}, EchoReference::kMostLag}) {
      std::array<float, kEchoFrame> frame;
      reference.read(n_back, static_cast<double>(lag), 0, frame);
      const size_t first = played.size() - (n_back + 1) * kEchoFrame - lag;
      for (size_t i = 0; i < kEchoFrame; ++i)
        ASSERT_NEAR(frame[i], played[first + i], 1e-6f) << lag << ", " << i;
    }
  }
}

TEST(EchoReference, IsReadBetweenSamplesAndAtAnotherRate) {
  const auto sine = [](double at) {
    return static_cast<float>(std::sin(2 * std::numbers::pi * 3000 * at / kEchoRateHz));
  };
  EchoReference reference(0);
  constexpr size_t kFrames = 60;
  for (size_t frame = 0; frame < kFrames; ++frame) {
    std::array<float, kEchoFrame> samples;
    for (size_t i = 0; i < kEchoFrame; ++i) samples[i] = sine(static_cast<double>(frame * kEchoFrame + i));
    reference.push(samples);
  }
  for (const double lag : {16.0, 16.5, 99.123, 777.7}) {
    for (const double growth : {0.0, 0.016, -0.05}) {
      std::array<float, kEchoFrame> frame;
      reference.read(0, lag, growth, frame);
      for (size_t i = 0; i < kEchoFrame; ++i) {
        const double share = static_cast<double>(i) / kEchoFrame;
        const double at =
            static_cast<double>((kFrames - 1) * kEchoFrame + i) - std::max(lag + growth * share, 16.0);
        ASSERT_NEAR(frame[i], sine(at), 2e-3f) << lag << ", " << growth << ", " << i;
      }
    }
  }
}

TEST(EchoReference, WhatIsKnownLateIsAsIfItHadBeenKnown) {
  const std::vector<float> played = hiss(1, kSecond, 0.1f);
  EchoReference in_time(0), late(0);
  for (size_t i = 0; i + kEchoFrame <= played.size(); i += kEchoFrame) {
    std::vector<float> frame(played.begin() + static_cast<std::ptrdiff_t>(i),
                             played.begin() + static_cast<std::ptrdiff_t>(i + kEchoFrame));
    in_time.push(frame);
    std::fill(frame.begin() + 100, frame.end(), 0.0f);
    late.push(frame);
    late.amend(std::span(played).subspan(i + 100, 20), 60);
    late.amend(std::span(played).subspan(i + 120, 40), 40);
  }
  // What was never in it, or is not in it any more, is left out.
  late.amend(played, 0);
  late.amend(std::span(played).first(10), played.size() + 16000);
  std::array<float, kEchoFrame> want, got;
  for (const double lag : {16.0, 100.5, 4000.0}) {
    in_time.read(0, lag, 0, want);
    late.read(0, lag, 0, got);
    EXPECT_EQ(want, got);
  }
}

}  // namespace
}  // namespace parlance
