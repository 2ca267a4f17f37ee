// Conversations on a virtual clock: what is heard, asked and remembered, whatever interrupts what.
#include "voice/talk.h"

#include "voice/support/scripted_talk.h"
#include "voice/support/silent_parts.h"

namespace parlance {
namespace {

using test::Script;
using test::ScriptedTalk;
using test::Utterance;

std::string stripped(std::string text) {
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

constexpr Utterance kFirst{320, 1280};
constexpr const char* kAnswer = "Well, that was said. It is fine with me.";
constexpr int kWholeAnswer = 1200 * test::kSamplesPerMs;  // two phrases

TEST(Talk, AnswersATurn) {
  ScriptedTalk talk({.utterances = {kFirst}});
  talk.run();
  ASSERT_EQ(talk.reports.size(), 1u);
  const TurnReport& report = talk.reports[0];
  EXPECT_EQ(report.question, stripped(ScriptedTalk::words_of(kFirst)));
  EXPECT_EQ(report.answer, kAnswer);
  EXPECT_EQ(report.heard, kAnswer);
  EXPECT_EQ(report.n_samples, kWholeAnswer);
  EXPECT_EQ(report.n_drafts, 1);
  EXPECT_FALSE(report.is_interrupted);
  ASSERT_EQ(talk.memory.size(), 1u);
  EXPECT_EQ(talk.memory[0].answer, kAnswer);

  // Everything but the waiting was done while the silence grew long enough.
  const TurnTrace& trace = report.trace;
  EXPECT_EQ(trace.at_ms(Checkpoint::speech_start), 320);
  EXPECT_EQ(trace.at_ms(Checkpoint::speech_end), 1280);
  EXPECT_EQ(trace.after_speech_ms(Checkpoint::pause), 128);
  EXPECT_EQ(trace.after_speech_ms(Checkpoint::asr_final), 168);
  EXPECT_EQ(trace.after_speech_ms(Checkpoint::turn_end), 352);
  EXPECT_LT(*trace.after_speech_ms(Checkpoint::tts_first_audio), 352);
  EXPECT_LE(*trace.after_speech_ms(Checkpoint::audio_first_played), 353);
  EXPECT_EQ(trace.phrases.size(), 2u);
  EXPECT_EQ(talk.states, (std::vector{TalkState::hearing, TalkState::pausing, TalkState::drafting,
                                      TalkState::answering, TalkState::speaking, TalkState::idle}));
}

TEST(Talk, WithoutDraftsAllIsTheSameButLater) {
  ScriptedTalk talk({.utterances = {kFirst}, .options = {.drafts_answers = false}});
  talk.run();
  ASSERT_EQ(talk.reports.size(), 1u);
  EXPECT_EQ(talk.reports[0].heard, kAnswer);
  EXPECT_GT(*talk.reports[0].trace.after_speech_ms(Checkpoint::audio_first_played), 352 + 90);
}

// What was asked and heard must not depend on whether answers are made in advance.
TEST(Talk, DraftsChangeNothingButTime) {
  for (int gap = 0; gap <= 2400; gap += 7) {
    const std::vector<Utterance> utterances = {kFirst, {kFirst.to_ms + gap, kFirst.to_ms + gap + 640}};
    std::vector<std::string> questions[2];
    for (const bool drafts : {false, true}) {
      ScriptedTalk talk({.utterances = utterances, .options = {.drafts_answers = drafts}});
      talk.run();
      ASSERT_EQ(talk.state(), TalkState::idle) << gap;
      std::string all;
      for (const TurnReport& report : talk.reports) {
        EXPECT_EQ(report.answer.substr(0, report.heard.size()), report.heard);
        questions[drafts].push_back(report.question);
        all += report.question + " ";
      }
      // Not a word is lost, not even one that came when a turn seemed to have ended.
      EXPECT_EQ(all, ScriptedTalk::words_of(utterances[0]) + ScriptedTalk::words_of(utterances[1])) << gap;
      ASSERT_EQ(talk.memory.size(), talk.reports.size()) << gap;
      for (size_t i = 0; i < talk.memory.size(); ++i) {
        EXPECT_EQ(talk.memory[i].question, talk.reports[i].question);
        EXPECT_EQ(talk.memory[i].answer,
                  talk.reports[i].is_interrupted ? talk.reports[i].heard : talk.reports[i].answer);
      }
      ASSERT_FALSE(talk.reports.empty());
      EXPECT_EQ(talk.reports.back().n_samples, kWholeAnswer) << gap;
    }
    // Within the time that drafts save, the same words may be one turn or two.
    const bool is_near_the_end = gap > 300 && gap < 700;
    if (!is_near_the_end) {
      EXPECT_EQ(questions[0], questions[1]) << gap;
    }
  }
}

// Somebody speaks at any millisecond of an answer: it is silent within 100 ms of being detected, nothing of
// it is heard later, and the new turn is answered whole.
TEST(Talk, BargeInAtEveryMillisecond) {
  for (int at = 1300; at < 3100; ++at) {
    const Utterance second{at, at + 640};
    ScriptedTalk talk({.utterances = {kFirst, second}});
    talk.run();
    ASSERT_EQ(talk.state(), TalkState::idle) << at;
    ASSERT_FALSE(talk.reports.empty()) << at;
    EXPECT_EQ(talk.reports.back().n_samples, kWholeAnswer) << at;
    EXPECT_FALSE(talk.reports.back().is_interrupted) << at;
    int last_of_first = -1;
    bool is_ordered = true;
    float last = 0;
    for (const auto& [ms, reply] : talk.audible) {
      is_ordered = is_ordered && reply >= last;
      last = reply;
      if (reply < talk.audible.back().second) last_of_first = ms;
    }
    EXPECT_TRUE(is_ordered) << "an answer that had ended was heard again, " << at;
    // The detector needs a window that is mostly speech.
    EXPECT_LT(last_of_first, at + 2 * test::kWindowMs + 100) << at;
    if (talk.reports.size() == 2 && talk.reports[0].is_interrupted) {
      const auto hushed = talk.reports[0].trace.between_ms(Checkpoint::barge_in, Checkpoint::hushed);
      const auto stop = talk.reports[0].trace.between_ms(Checkpoint::barge_in, Checkpoint::hard_stop);
      ASSERT_TRUE(hushed && stop) << at;
      EXPECT_LE(*hushed, 100) << at;
      EXPECT_LE(*stop, 350) << at;
      EXPECT_EQ(talk.memory[0].answer, talk.reports[0].heard) << at;
      EXPECT_EQ(stripped(ScriptedTalk::words_of(second)), talk.reports[1].question) << at;
    }
  }
}

// Interrupted later, an answer is remembered word by word further.
TEST(Talk, WhatWasHeardGrowsByWords) {
  std::vector<std::string> heard;
  for (int at = 1750; at < 2790; at += 5) {
    ScriptedTalk talk({.utterances = {kFirst, {at, at + 640}}});
    talk.run();
    ASSERT_EQ(talk.reports.size(), 2u) << at;
    ASSERT_TRUE(talk.reports[0].is_interrupted) << at;
    ASSERT_EQ(talk.memory[0].answer, talk.reports[0].heard);
    if (heard.empty() || heard.back() != talk.reports[0].heard) heard.push_back(talk.reports[0].heard);
  }
  EXPECT_EQ(heard, (std::vector<std::string>{"", "Well,", "Well, that", "Well, that was",
                                             "Well, that was said.", "Well, that was said. It",
                                             "Well, that was said. It is", "Well, that was said. It is fine",
                                             "Well, that was said. It is fine with"}));
}

// What the mind finds likely decides how long the silence is: of any pause within a turn, at every
// millisecond.
TEST(Talk, TheEndDependsOnWhatWasSaid) {
  for (const double judges_ms : {0.0, 5.0, 60.0, 500.0}) {
    for (int gap = 100; gap < 1100; gap += 7) {
      const Utterance second{kFirst.to_ms + gap, kFirst.to_ms + gap + 640};
      const std::string whole = stripped(ScriptedTalk::words_of(kFirst) + ScriptedTalk::words_of(second));
      ScriptedTalk talk(
          {.utterances = {kFirst, second},
           .options = {.turn_end = TurnEndOptions{}},
           .probability = [&](const std::string& words) { return words == whole ? 0.97 : 0.02; },
           .judges_ms = judges_ms});
      talk.run();
      ASSERT_EQ(talk.state(), TalkState::idle);
      // Half a question is given 900 ms, less what the detector's windows are too wide for.
      if (gap < 830) {
        ASSERT_EQ(talk.reports.size(), 1u) << gap;
        EXPECT_EQ(talk.reports[0].question, whole) << gap;
        ASSERT_TRUE(talk.reports[0].end_signs);
        EXPECT_EQ(talk.reports[0].end_signs->probability, 0.97);
        const double end_ms = *talk.reports[0].trace.after_speech_ms(Checkpoint::turn_end);
        EXPECT_LE(end_ms, std::max(160.0, 168 + judges_ms + test::kWindowMs)) << gap;
      } else if (gap > 1000) {
        EXPECT_EQ(talk.reports.size(), 2u) << gap;
      }
    }
  }
}

TEST(Talk, WithoutAJudgementTheWordsAloneDecide) {
  ScriptedTalk talk({.utterances = {kFirst}, .options = {.turn_end = TurnEndOptions{}}});
  talk.run();
  ASSERT_EQ(talk.reports.size(), 1u);
  ASSERT_TRUE(talk.reports[0].end_signs);
  EXPECT_FALSE(talk.reports[0].end_signs->probability);
  EXPECT_EQ(talk.reports[0].end_silence_ms, end_silence_ms(*talk.reports[0].end_signs));
  EXPECT_GT(*talk.reports[0].trace.after_speech_ms(Checkpoint::turn_end), 350);
}

// A judgement that comes when the person speaks again is of no account for the next pause.
TEST(Talk, AJudgementIsOfItsOwnPause) {
  const Utterance second{kFirst.to_ms + 300, kFirst.to_ms + 900};
  int n_judged = 0;
  ScriptedTalk talk({.utterances = {kFirst, second},
                     .options = {.turn_end = TurnEndOptions{}},
                     .probability = [&](const std::string&) { return n_judged++ == 0 ? 1.0 : 0.0; },
                     .judges_ms = 250});
  talk.run();
  ASSERT_EQ(talk.reports.size(), 1u);
  EXPECT_EQ(talk.reports[0].end_signs->probability, 0.0);
  EXPECT_GT(*talk.reports[0].trace.after_speech_ms(Checkpoint::turn_end), 890);
}

TEST(Talk, RepliesToQuestionsAreGivenTime) {
  const auto end_ms = [](std::string mark) {
    ScriptedTalk talk({.utterances = {kFirst, {9000, 9700}},
                       .answer = {"Who", " is", " that", mark},
                       .options = {.turn_end = TurnEndOptions{}},
                       .probability = [](const std::string&) { return 0.8; }});
    talk.run();
    EXPECT_EQ(talk.reports.size(), 2u);
    EXPECT_FALSE(talk.reports.at(0).end_signs->is_reply);
    EXPECT_EQ(talk.reports.at(1).end_signs->is_reply, mark == "?");
    return *talk.reports.at(1).trace.after_speech_ms(Checkpoint::turn_end);
  };
  EXPECT_GT(end_ms("?"), end_ms(".") * 1.3);
}

// A cough stops the answer for a moment, and no more: there are no words in it.
TEST(Talk, ACoughAtEveryMillisecondChangesNothing) {
  for (int at = 1700; at < 2800; ++at) {
    ScriptedTalk talk({.utterances = {kFirst, {at, at + 64}}, .understood = 1});
    talk.run();
    ASSERT_EQ(talk.reports.size(), 1u) << at;
    EXPECT_EQ(talk.reports[0].n_samples, kWholeAnswer) << at;
    EXPECT_FALSE(talk.reports[0].is_interrupted) << at;
    EXPECT_EQ(talk.audible.size(), 1200u) << at;
  }
}

// Nor does a noise that is long enough for speech, unless it goes on and on.
TEST(Talk, LongSoundsWithoutWordsInterrupt) {
  ScriptedTalk noise({.utterances = {kFirst, {1800, 2250}}, .understood = 1});
  noise.run();
  ASSERT_EQ(noise.reports.size(), 1u);
  EXPECT_FALSE(noise.reports[0].is_interrupted);
  EXPECT_EQ(noise.reports[0].n_samples, kWholeAnswer);
  ScriptedTalk speech({.utterances = {kFirst, {1800, 2800}}, .understood = 1});
  speech.run();
  ASSERT_EQ(speech.reports.size(), 1u);
  EXPECT_TRUE(speech.reports[0].is_interrupted);
}

TEST(Talk, WhatIsNotUnderstoodIsNotAnswered) {
  ScriptedTalk talk({.utterances = {kFirst}, .hears_words = false});
  talk.run();
  EXPECT_TRUE(talk.reports.empty());
  EXPECT_EQ(talk.n_asked, 0);
  EXPECT_EQ(talk.state(), TalkState::idle);
}

TEST(Talk, AnAnswerWithoutWordsIsATurn) {
  ScriptedTalk talk({.utterances = {kFirst}, .answer = {"..."}});
  talk.run();
  ASSERT_EQ(talk.reports.size(), 1u);
  EXPECT_EQ(talk.reports[0].answer, "...");
  EXPECT_EQ(talk.reports[0].n_samples, 0);
  EXPECT_TRUE(talk.audible.empty());
}

TEST(Talk, StopsAtEveryMillisecond) {
  for (int at = 300; at < 3200; ++at) {
    ScriptedTalk talk({.utterances = {kFirst}, .stop_at_ms = at});
    talk.run();
    EXPECT_EQ(talk.state(), TalkState::idle) << at;
    if (!talk.audible.empty()) {
      EXPECT_LE(talk.audible.back().first, at);
    }
    EXPECT_EQ(talk.memory.size(), talk.reports.size()) << at;
  }
}

// Slow parts, quick parts: a turn is always answered, and by one answer.
TEST(Talk, AnyPaceWorks) {
  for (const double asr_ms : {0.0, 150.0, 900.0}) {
    for (const double token_ms : {0.0, 60.0, 400.0}) {
      for (const double first_audio_ms : {0.0, 700.0}) {
        for (const double audio_rate : {0.7, 20.0}) {
          ScriptedTalk talk({.utterances = {kFirst, {1500, 2000}, {9000, 9700}},
                             .pace = {.asr_ms = asr_ms,
                                      .token_ms = token_ms,
                                      .first_audio_ms = first_audio_ms,
                                      .audio_rate = audio_rate}});
          talk.run(60000);
          ASSERT_EQ(talk.state(), TalkState::idle);
          ASSERT_GE(talk.reports.size(), 1u);
          std::string all;
          for (const TurnReport& report : talk.reports) all += report.question + " ";
          EXPECT_EQ(all, ScriptedTalk::words_of(kFirst) + ScriptedTalk::words_of({1500, 2000}) +
                             ScriptedTalk::words_of({9000, 9700}));
          EXPECT_FALSE(talk.reports.back().is_interrupted);
          EXPECT_EQ(talk.reports.back().heard, talk.reports.back().answer);
        }
      }
    }
  }
}

TEST(Talk, ABrokenPartEndsTheConversation) {
  struct Deaf : Ears, Mind {
    Result<void> begin() override { return {}; }
    Result<void> feed(std::span<const float>) override { return {}; }
    void pause() override {}
    void ask(uint64_t, const std::string&) override {}
    void drop(uint64_t) override {}
    void cut(uint64_t, const std::string&) override {}
  } deaf;
  test::SilentMouth mouth;
  test::SilentLoudspeaker loudspeaker;
  TalkObserver observer;
  Talk talk({deaf, deaf, mouth, loudspeaker}, observer);
  const auto done = talk.take(Broken{{ErrorCode::device_failed, "the speaker is gone"}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "the speaker is gone");
}

}  // namespace
}  // namespace parlance
