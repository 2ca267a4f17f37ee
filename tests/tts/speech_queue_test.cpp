#include "tts/speech_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "tts/support/tiny_tts.h"

namespace parlance::test {
namespace {

struct TestOrder final : SpeechOrder {
  explicit TestOrder(SpeechRequest wanted, const void* its_speaker = nullptr)
      : request(std::move(wanted)), own_speaker(its_speaker ? its_speaker : this) {}
  const void* speaker() const override { return own_speaker; }
  std::optional<SpeechRequest> begin() override {
    if (request.cancellation.cancelled()) {
      ended.set_value(fail(ErrorCode::cancelled, "not wanted"));
      return std::nullopt;
    }
    return request;
  }
  bool take(std::span<const float> part) override {
    samples.insert(samples.end(), part.begin(), part.end());
    return true;
  }
  void end(Result<SpeechReport> report) override { ended.set_value(std::move(report)); }

  SpeechRequest request;
  const void* own_speaker;
  std::vector<float> samples;
  std::promise<Result<SpeechReport>> ended;
};

class SpeechQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("omnivoice/models");
    tts_ = load_tiny_tts();
    ASSERT_TRUE(tts_.synthesizer);
  }
  static SpeechRequest request(const std::string& text, int n_step = 2) {
    SpeechRequest request;
    request.text = text;
    request.decoding.n_step = n_step;
    return request;
  }

  LoadedTts tts_;
};

TEST_F(SpeechQueueTest, SpeaksInOrder) {
  SpeechQueue queue(*tts_.synthesizer);
  std::vector<std::shared_ptr<TestOrder>> orders;
  for (const char* text : {"Hello world.", "One second."}) {
    orders.push_back(std::make_shared<TestOrder>(request(text)));
    queue.post(orders.back());
  }
  for (const auto& order : orders) {
    const auto report = order->ended.get_future().get();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(order->samples, stream_speech(*tts_.synthesizer, order->request).samples);
  }
}

// Two speakers by turns, whose words are spoken beside each other: each one's come in order, and sound as
// they do alone.
TEST_F(SpeechQueueTest, WhatOneSaysComesInOrderBesideOthers) {
  std::vector<std::vector<std::string>> begun(2);
  std::vector<std::shared_ptr<TestOrder>> orders;
  std::array<std::atomic<int>, 2> n_at_work{};
  std::atomic<bool> were_alone = true;
  {
    SpeechQueue queue(*tts_.synthesizer);
    for (const char* text : {"Hello world.", "One second.", "Okay."}) {
      for (size_t who = 0; who < 2; ++who) {
        const auto order = std::make_shared<TestOrder>(request(text), &begun[who]);
        order->request.on_progress = [&, who, text](const SpeechProgress& progress) {
          if (progress.step == 1) {
            if (++n_at_work[who] > 1) were_alone = false;
            begun[who].push_back(text);
          }
          if (progress.step == progress.n_steps) --n_at_work[who];
        };
        orders.push_back(order);
        queue.post(order);
      }
    }
    for (const auto& order : orders) EXPECT_TRUE(order->ended.get_future().get());
  }
  EXPECT_TRUE(were_alone);
  for (const auto& said : begun)
    EXPECT_EQ(said, (std::vector<std::string>{"Hello world.", "One second.", "Okay."}));
  for (const auto& order : orders) {
    order->request.on_progress = {};
    EXPECT_EQ(order->samples, stream_speech(*tts_.synthesizer, order->request).samples);
  }
}

TEST_F(SpeechQueueTest, WhatWasCancelledBeforeItsTurnIsNotSpoken) {
  SpeechQueue queue(*tts_.synthesizer);
  const CancellationSource source;
  auto lengthy = std::make_shared<TestOrder>(request("Hello world.", 1000), &queue);
  lengthy->request.cancellation = source.ticket();
  auto waiting = std::make_shared<TestOrder>(request("One second."), &queue);
  waiting->request.cancellation = source.ticket();
  auto wanted = std::make_shared<TestOrder>(request("Okay."));
  for (const auto& order : {lengthy, waiting, wanted}) queue.post(order);
  source.cancel();
  EXPECT_EQ(lengthy->ended.get_future().get().error().code, ErrorCode::cancelled);
  EXPECT_EQ(waiting->ended.get_future().get().error().message, "not wanted");
  EXPECT_TRUE(wanted->ended.get_future().get());
}

TEST_F(SpeechQueueTest, ItsEndEndsWhatItSpeaks) {
  const auto lengthy = std::make_shared<TestOrder>(request("Hello world.", 1000));
  std::promise<void> has_begun;
  lengthy->request.on_progress = [&, is_first = true](const SpeechProgress&) mutable {
    if (std::exchange(is_first, false)) has_begun.set_value();
  };
  {
    SpeechQueue queue(*tts_.synthesizer);
    queue.post(lengthy);
    queue.post(std::make_shared<TestOrder>(request("Okay.")));
    has_begun.get_future().wait();
  }
  EXPECT_EQ(lengthy->ended.get_future().get().error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace parlance::test
