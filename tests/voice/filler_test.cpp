// A sound in place of silence: when it comes, when it is gone, and that nothing else is changed by it.
#include "voice/filler.h"

#include "voice/support/scripted_talk.h"

namespace parlance {
namespace {

using test::kFillerSample;
using test::Script;
using test::ScriptedTalk;
using test::Utterance;

constexpr Utterance kQuestion{320, 1280};

// The milliseconds in which the filler sounds.
std::vector<int> filled(const ScriptedTalk& talk) {
  std::vector<int> at;
  for (const auto& [ms, sample] : talk.audible) {
    if (sample == kFillerSample) at.push_back(ms);
  }
  return at;
}

std::vector<std::pair<int, float>> answers(const ScriptedTalk& talk) {
  auto audible = talk.audible;
  std::erase_if(audible, [](const auto& one) { return one.second == kFillerSample; });
  return audible;
}

TEST(Filler, SoundsAsSoonAsSomebodySpeaks) {
  ScriptedTalk talk({.utterances = {kQuestion}, .filler = FillerMoment::speech_start, .filler_ms = 400});
  talk.run();
  const auto at = filled(talk);
  ASSERT_EQ(at.size(), 400u);
  EXPECT_LE(at.front(), kQuestion.from_ms + 50);
  EXPECT_EQ(at.back(), at.front() + 399);
  EXPECT_EQ(talk.reports.size(), 1u);
}

// The answer was made in a time that nobody would want to fill, unless there were no drafts.
TEST(Filler, SoundsBehindATurnUntilTheAnswerDoes) {
  for (const int filler_ms : {20, 5000}) {
    Script script{.utterances = {kQuestion}, .filler = FillerMoment::turn_end, .filler_ms = filler_ms};
    ScriptedTalk drafting(script);
    drafting.run();
    EXPECT_TRUE(filled(drafting).empty());
    script.options.drafts_answers = false;
    ScriptedTalk talk(script);
    talk.run();
    const auto at = filled(talk);
    ASSERT_FALSE(at.empty());
    ASSERT_EQ(talk.reports.size(), 1u);
    const double end = *talk.reports[0].trace.at_ms(Checkpoint::turn_end);
    EXPECT_GE(at.front(), end);
    EXPECT_LE(at.front(), end + 2);
    EXPECT_LT(at.back(), answers(talk).front().first);
    EXPECT_EQ(std::ssize(at), std::min(filler_ms, answers(talk).front().first - at.front()));
  }
}

// Whatever it falls into: the same questions, answers, times and memory as without it.
TEST(Filler, ChangesNothingElse) {
  for (const FillerMoment moment : {FillerMoment::speech_start, FillerMoment::turn_end}) {
    for (int gap = 0; gap <= 2600; gap += 19) {
      Script script{.utterances = {kQuestion, {kQuestion.to_ms + gap, kQuestion.to_ms + gap + 400}}};
      script.options.drafts_answers = gap % 2 == 0;
      ScriptedTalk plain(script);
      plain.run();
      script.filler = moment;
      for (const int filler_ms : {30, 700, 6000}) {
        SCOPED_TRACE(testing::Message() << name_of(moment) << " gap " << gap << " filler " << filler_ms);
        script.filler_ms = filler_ms;
        ScriptedTalk talk(script);
        talk.run();
        EXPECT_EQ(answers(talk), answers(plain));
        EXPECT_EQ(talk.states, plain.states);
        ASSERT_EQ(talk.reports.size(), plain.reports.size());
        for (size_t i = 0; i < talk.reports.size(); ++i) {
          EXPECT_EQ(talk.reports[i].question, plain.reports[i].question);
          EXPECT_EQ(talk.reports[i].heard, plain.reports[i].heard);
          EXPECT_EQ(talk.reports[i].n_samples, plain.reports[i].n_samples);
        }
      }
    }
  }
}

// A cough is no turn: when that is known, nothing is said any more.
TEST(Filler, IsGoneWithTheTurn) {
  ScriptedTalk talk({.utterances = {{320, 340}, {3000, 3020}},
                     .hears_words = false,
                     .filler = FillerMoment::speech_start,
                     .filler_ms = 60000});
  talk.run();
  EXPECT_EQ(talk.state(), TalkState::idle);
  const auto at = filled(talk);
  ASSERT_FALSE(at.empty());
  EXPECT_LT(std::ssize(at), 2000);
  EXPECT_LT(at.back(), 4000);
}

TEST(Filler, StopsWithTheConversation) {
  for (const int stop_at : {330, 353, 360, 500, 1300, 1700, 2000}) {
    ScriptedTalk talk({.utterances = {kQuestion},
                       .stop_at_ms = stop_at,
                       .filler = FillerMoment::speech_start,
                       .filler_ms = 5000});
    talk.run();
    for (const int at : filled(talk)) EXPECT_LT(at, stop_at);
  }
}

TEST(Filler, MomentsHaveNames) {
  for (const FillerMoment moment : {FillerMoment::never, FillerMoment::speech_start, FillerMoment::turn_end})
    EXPECT_EQ(filler_moment_from_name(name_of(moment)), moment);
  EXPECT_FALSE(filler_moment_from_name("often"));
}

}  // namespace
}  // namespace parlance
