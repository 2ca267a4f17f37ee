// An owner of a conversation that is late: what is posted, what the ears find and when the owner looks follow
// each other in every order.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "voice/inbox.h"
#include "voice/talk.h"

namespace parlance {
namespace {

// Ears whose text are the samples, and who know the final one when compute() is called behind a pause.
class LateEars final : public Ears, public TalkPart {
 public:
  explicit LateEars(Inbox& inbox) : inbox_(inbox) {}

  void compute() {
    if (!is_wanted_ || hearing_.is_final) return;
    hearing_.is_final = true;
    inbox_.notify(*this);
  }

  Result<void> begin() override {
    hearing_ = {};
    is_wanted_ = false;
    return {};
  }
  Result<void> feed(std::span<const float> samples) override {
    for (const float sample : samples)
      hearing_.text += "word" + std::to_string(static_cast<int>(sample)) + " ";
    hearing_.is_final = is_wanted_ = false;
    ++hearing_.revision;
    inbox_.notify(*this);
    return {};
  }
  void pause() override {
    is_wanted_ = true;
    inbox_.notify(*this);
  }
  void report(std::vector<TalkMessage>& news) override { news.push_back(HeardWords{hearing_, 0}); }

 private:
  Inbox& inbox_;
  Hearing hearing_;
  bool is_wanted_ = false;
};

// A mind that answers nothing, at once.
class SilentMind final : public Mind {
 public:
  explicit SilentMind(Inbox& inbox) : inbox_(inbox) {}

  void ask(uint64_t reply, const std::string&) override { inbox_.post(ThoughtEnd{reply, 0}); }
  void drop(uint64_t) override {}
  void cut(uint64_t, const std::string&) override {}

 private:
  Inbox& inbox_;
};

struct NoMouth final : Mouth {
  void say(uint64_t, int64_t, const std::string&) override {}
  void cancel() override {}
};

struct NoLoudspeaker final : Loudspeaker {
  void begin_answer() override {}
  void play(std::span<const float>) override {}
  void hush() override {}
  void unhush() override {}
  void stop() override {}
  Result<void> tick() override { return {}; }
  std::optional<double> wait_ms() const override { return std::nullopt; }
  int64_t n_heard() const override { return 0; }
  bool is_drained() const override { return true; }
};

struct Questions final : TalkObserver {
  void on_turn(const TurnReport& report) override { asked.push_back(report.question); }
  std::vector<std::string> asked;
};

TalkMessage turn(TurnEvent::Kind kind) {
  return HeardTurn{.event = {kind, 0, 0, 0, 0}, .at_ms = 0, .speech_start_ms = 0, .speech_end_ms = 0};
}

TEST(LateOwner, TheTextOfATurnIsThatOfAllThatWasHeard) {
  using Kind = TurnEvent::Kind;
  const std::vector<TalkMessage> heard = {
      turn(Kind::speech_start), HeardSound{{1}},          turn(Kind::speech_pause), turn(Kind::speech_resume),
      HeardSound{{2}},          turn(Kind::speech_pause), turn(Kind::speech_end)};
  // Behind each message the ears may compute, and the owner may take what there is.
  constexpr int kDeeds = 4;
  int n_orders = 1;
  for (size_t i = 0; i < heard.size(); ++i) n_orders *= kDeeds;
  for (int order = 0; order < n_orders; ++order) {
    Inbox inbox;
    LateEars ears(inbox);
    SilentMind mind(inbox);
    NoMouth mouth;
    NoLoudspeaker loudspeaker;
    Questions questions;
    Talk talk({ears, mind, mouth, loudspeaker}, questions);
    const auto take = [&] {
      for (const TalkMessage& message : inbox.take(std::chrono::microseconds(0)))
        ASSERT_TRUE(talk.take(message));
      ASSERT_TRUE(talk.tick(0));
    };
    int deeds = order;
    for (const TalkMessage& message : heard) {
      inbox.post(message);
      if (deeds % 2 == 1) ears.compute();
      if (deeds / 2 % 2 == 1) take();
      deeds /= kDeeds;
    }
    for (int i = 0; i < 20 && questions.asked.empty(); ++i) {
      take();
      ears.compute();
    }
    ASSERT_EQ(questions.asked, std::vector<std::string>{"word1 word2"}) << "order " << order;
  }
}

}  // namespace
}  // namespace parlance
