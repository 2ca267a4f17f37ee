// An owner of a conversation that is late: what is posted, what the ears find and when the owner looks follow
// each other in every order.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "voice/inbox.h"
#include "voice/support/silent_parts.h"
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

struct Questions final : TalkObserver {
  void on_turn(const TurnReport& report) override { asked.push_back(report.question); }
  std::vector<std::string> asked;
};

TalkMessage turn(TurnEvent::Kind kind) {
  return HeardTurn{.event = {kind, 0, 0, 0, 0}, .at_ms = 0, .speech_start_ms = 0, .speech_end_ms = 0};
}

// A conversation in which these messages are posted one after the other. Behind each of them the owner may
// look once or more, and the ears may compute, before each look or where there is none: which of these
// n_deeds happen are the digits of `order`. Yields what was asked in its turns.
std::vector<std::string> asked_of(const std::vector<TalkMessage>& heard, int64_t n_deeds, int64_t order) {
  Inbox inbox;
  LateEars ears(inbox);
  SilentMind mind(inbox);
  test::SilentMouth mouth;
  test::SilentLoudspeaker loudspeaker;
  Questions questions;
  Talk talk({ears, mind, mouth, loudspeaker}, questions);
  const auto look = [&] {
    for (const TalkMessage& message : inbox.take(std::chrono::microseconds(0)))
      EXPECT_TRUE(talk.take(message));
    EXPECT_TRUE(talk.tick(0));
    inbox.settle(talk.is_quiet());
  };
  for (const TalkMessage& message : heard) {
    inbox.post(message);
    const bool computes = order % 2 == 1;
    if (computes) ears.compute();
    for (int64_t i = 0; i < order % n_deeds / 2 && !inbox.is_settled(); ++i) {
      look();
      if (computes) ears.compute();
    }
    order /= n_deeds;
  }
  for (int i = 0; i < 30 && !inbox.is_settled(); ++i) {
    look();
    ears.compute();
  }
  EXPECT_TRUE(talk.is_quiet());
  return questions.asked;
}

int64_t n_orders(const std::vector<TalkMessage>& heard, int64_t n_deeds) {
  int64_t n = 1;
  for (size_t i = 0; i < heard.size(); ++i) n *= n_deeds;
  return n;
}

using Kind = TurnEvent::Kind;
const std::vector<TalkMessage> kTurn = {turn(Kind::speech_start),  HeardSound{{1}}, turn(Kind::speech_pause),
                                        turn(Kind::speech_resume), HeardSound{{2}}, turn(Kind::speech_pause),
                                        turn(Kind::speech_end)};

TEST(LateOwner, TheTextOfATurnIsThatOfAllThatWasHeard) {
  for (int64_t order = 0; order < n_orders(kTurn, 4); ++order)
    ASSERT_EQ(asked_of(kTurn, 4, order), std::vector<std::string>{"word1 word2"}) << "order " << order;
}

// Speech that begins before there is an answer goes on with its question: all that was said is asked once, in
// one turn or two.
TEST(LateOwner, NothingOfASecondTurnIsLostOrAskedTwice) {
  std::vector<TalkMessage> heard = kTurn;
  for (const TalkMessage& message : {turn(Kind::speech_start), TalkMessage(HeardSound{{3}}),
                                     turn(Kind::speech_pause), turn(Kind::speech_end)})
    heard.push_back(message);
  // Some 5,000 of all orders, with every beginning.
  constexpr int64_t kDeeds = 8;
  const int64_t n_all = n_orders(heard, kDeeds), step = n_all / 5000 | 1;
  bool has_one = false, has_two = false;
  for (int64_t order = 0; order < n_all; order += step) {
    const std::vector<std::string> asked = asked_of(heard, kDeeds, order);
    has_one = has_one || asked.size() == 1;
    has_two = has_two || asked.size() == 2;
    std::string all;
    for (const std::string& question : asked) all += question + " ";
    ASSERT_EQ(all, "word1 word2 word3 ") << "order " << order;
  }
  EXPECT_TRUE(has_one && has_two);
}

}  // namespace
}  // namespace parlance
