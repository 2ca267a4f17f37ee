// A transcription ends between any two operations of the device, and leaves nothing behind.
#include <semaphore>
#include <thread>

#include "asr/recognizer.h"
#include "asr/support/fixture_clips.h"
#include "support/watched_device.h"

namespace parlance::test {
namespace {

class RecognizerCancel : public ::testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("asr/manifest.json");
    samples_ = fixture_speech(asr_manifest(), 1.5);
    model_ = load_asr(asr_bundles().front(), device_, {.huge_pages = false});
    make_recognizer();
  }

  void make_recognizer() {
    RecognizerOptions options;
    options.max_tokens = 4;
    options.preview_share = 0;
    recognizer_ = *Recognizer::create(*model_, options);
  }

  Result<Transcription> transcribe(const Cancellation& cancellation = {}) {
    return recognizer_->transcribe(samples_, {}, {}, cancellation);
  }

  void expect_undisturbed(const Transcription& want) {
    device_.on_operation = {};
    const auto heard = transcribe();
    ASSERT_TRUE(heard) << heard.error().message;
    ASSERT_EQ(heard->segments.size(), want.segments.size());
    EXPECT_EQ(heard->segments[0].tokens, want.segments[0].tokens);
    EXPECT_EQ(heard->transcript, want.transcript);
  }

  WatchedDevice device_{2};
  std::vector<float> samples_;
  std::unique_ptr<AsrModel> model_;
  std::unique_ptr<Recognizer> recognizer_;
};

TEST_F(RecognizerCancel, BeforeTheStartNothingIsComputed) {
  const CancellationSource source;
  const Cancellation cancellation = source.ticket();
  source.cancel();
  int n_operations = 0;
  device_.on_operation = [&] { ++n_operations; };
  const auto heard = transcribe(cancellation);
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, ErrorCode::cancelled);
  EXPECT_EQ(n_operations, 0);
}

TEST_F(RecognizerCancel, AtEveryOperation) {
  const auto want = transcribe();
  ASSERT_TRUE(want) << want.error().message;
  ASSERT_EQ(want->segments.size(), 1u);
  // Of what there is to do where the cache has the prompt already.
  int n_all = 0;
  device_.on_operation = [&] { ++n_all; };
  ASSERT_TRUE(transcribe());
  ASSERT_GT(n_all, 20);
  for (int at = 0; at < n_all; ++at) {
    const CancellationSource source;
    int n_operations = 0;
    device_.on_operation = [&] {
      if (n_operations++ == at) source.cancel();
    };
    const auto heard = transcribe(source.ticket());
    ASSERT_FALSE(heard) << at;
    EXPECT_EQ(heard.error().code, ErrorCode::cancelled) << at;
    EXPECT_EQ(n_operations, at + 1) << "more was computed after the cancel";
    expect_undisturbed(*want);
  }
}

// Listening ahead too, at each piece of speech, and what it has left is of use.
TEST_F(RecognizerCancel, ListeningAtEveryOperation) {
  const auto encoder = *SpeechEncoder::create(model_->encoder(), device_, kReferenceAsr);
  ASSERT_TRUE(encoder->embeds_in_parts());
  constexpr size_t kPiece = 1600;
  const auto exact_rows = [&](int cancel_at, int& n_listening) {
    AudioRows rows(*encoder, kReferenceAsr);
    n_listening = 0;
    for (size_t at = 0; at < samples_.size(); at += kPiece) {
      const CancellationSource source;
      device_.on_operation = [&] {
        if (n_listening++ == cancel_at) source.cancel();
      };
      rows.push(std::span(samples_).subspan(at, std::min(kPiece, samples_.size() - at)));
      const int n_before = n_listening;
      const auto heard = rows.listen({.cancellation = source.ticket()});
      const bool is_cancelled = n_before <= cancel_at && cancel_at < n_listening;
      EXPECT_EQ(heard.has_value(), !is_cancelled);
      device_.on_operation = {};
    }
    EXPECT_TRUE(rows.refresh(RowsKind::exact));
    return rows.windows().front().rows;
  };
  int n_all = 0, n = 0;
  const std::vector<float> want = exact_rows(-1, n_all);
  ASSERT_GT(n_all, 50);
  for (int at = 0; at < n_all; ++at) EXPECT_TRUE(exact_rows(at, n) == want) << at;
}

// Somebody pauses while a preview is computed: it is given up, and the final text is that of the whole.
TEST_F(RecognizerCancel, APauseEndsAPreviewAtEveryOperation) {
  const auto want = transcribe();
  ASSERT_TRUE(want) << want.error().message;
  int n_preview = -1;  // operations of the preview, as soon as they are known
  for (int at = 0; n_preview < 0 || at < n_preview; ++at) {
    SCOPED_TRACE(at);
    std::atomic<int> n_told = 0;
    std::atomic<bool> has_paused = false;
    const auto stream = *recognizer_->open({}, [&] { ++n_told, n_told.notify_one(); });
    int n_operations = 0;
    device_.on_operation = [&] {
      if (n_operations++ != at) return;
      stream->pause();
      has_paused = true;
    };
    ASSERT_TRUE(stream->feed(samples_));
    n_told.wait(0);
    if (!has_paused) {
      n_preview = n_operations;
      break;
    }
    EXPECT_TRUE(stream->partial().is_final) << "the preview was computed to its end";
    EXPECT_EQ(stream->partial().tokens, want->segments[0].tokens);
    EXPECT_EQ(stream->partial().transcript, want->transcript);
  }
  EXPECT_GT(n_preview, 20);
  device_.on_operation = {};
}

// The same where more is said behind the pause, and where somebody wants all of it without one.
TEST_F(RecognizerCancel, WhatFollowsAPreviewThatWasGivenUpIsWhole) {
  const auto want = transcribe();
  ASSERT_TRUE(want) << want.error().message;
  const auto half = std::span(samples_).first(samples_.size() / 2);
  for (const bool pauses : {true, false}) {
    bool has_more = true;  // operations of the preview
    int at = 0;
    for (; has_more; ++at) {
      SCOPED_TRACE(testing::Message() << (pauses ? "pause at " : "finish at ") << at);
      std::counting_semaphore<> is_there(0);  // the operation, or some text
      std::binary_semaphore goes_on(0);
      const auto stream = *recognizer_->open({}, [&] { is_there.release(); });
      std::atomic<int> n_operations = 0;
      device_.on_operation = [&] {
        if (n_operations++ != at) return;
        if (pauses) stream->pause();
        is_there.release();
        goes_on.acquire();
      };
      ASSERT_TRUE(stream->feed(half));
      is_there.acquire();
      has_more = n_operations > at;
      ASSERT_TRUE(stream->feed(std::span(samples_).subspan(half.size())));
      const std::jthread later([&] { goes_on.release(); });
      const auto heard = stream->finish();
      device_.on_operation = {};
      ASSERT_TRUE(heard) << heard.error().message;
      ASSERT_EQ(heard->segments.size(), 1u);
      EXPECT_EQ(heard->segments[0].tokens, want->segments[0].tokens);
      EXPECT_EQ(heard->transcript, want->transcript);
    }
    EXPECT_GT(at, 20);
  }
}

// Whoever closes a stream, or the recogniser, waits for one operation and no more.
TEST_F(RecognizerCancel, ClosingEndsTheComputationOfAStream) {
  for (const bool closes_all : {false, true}) {
    SCOPED_TRACE(closes_all);
    if (!recognizer_) make_recognizer();
    auto stream = *recognizer_->open({});
    std::atomic<int> n_operations = 0;
    std::binary_semaphore has_begun(0), goes_on(0);
    device_.on_operation = [&] {
      if (n_operations++ != 3) return;
      has_begun.release();
      goes_on.acquire();
    };
    ASSERT_TRUE(stream->feed(samples_));
    stream->pause();
    has_begun.acquire();
    if (closes_all) {
      const std::jthread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        goes_on.release();
      });
      recognizer_.reset();
    } else {
      stream.reset();
      goes_on.release();
      recognizer_.reset();
    }
    EXPECT_EQ(n_operations, 4);
    device_.on_operation = {};
  }
}

// What was closed before its turn came is not begun.
TEST_F(RecognizerCancel, AClosedStreamIsNotBegun) {
  int n_operations = 0;
  std::binary_semaphore has_begun(0), goes_on(0);
  auto first = *recognizer_->open({}), second = *recognizer_->open({});
  device_.on_operation = [&] {
    if (n_operations++ != 0) return;
    has_begun.release();
    goes_on.acquire();
  };
  ASSERT_TRUE(first->feed(samples_));
  first->pause();
  has_begun.acquire();
  ASSERT_TRUE(second->feed(samples_));
  second->pause();
  second.reset();
  first.reset();
  goes_on.release();
  recognizer_.reset();
  EXPECT_EQ(n_operations, 1);
}

}  // namespace
}  // namespace parlance::test
