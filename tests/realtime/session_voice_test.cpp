// Conversations by voice.
#include <gtest/gtest.h>

#include "realtime/support/scripted_session.h"

namespace parlance {
namespace {

using test::json;
using test::RealtimeScript;
using test::said;
using test::ScriptedSession;

void transcribe(ScriptedSession& s) {
  s.update(R"({"audio":{"input":{"transcription":{}}}})", R"({"input_audio_transcription":{}})");
}
void push_to_talk(ScriptedSession& s) {
  s.update(R"({"audio":{"input":{"turn_detection":null}}})", R"({"turn_detection":null})");
}

TEST(SessionVoice, AnswersATurn) {
  for (const Dialect dialect : {Dialect::ga, Dialect::beta}) {
    RealtimeScript script;
    script.dialect = dialect;
    ScriptedSession s(script);
    transcribe(s);
    const size_t from = s.events.size();
    s.hear(400, false);
    s.hear(1000, true);
    s.hear(700, false);
    s.run(4000);
    EXPECT_TRUE(s.matches("voice turn, server_vad", from));
    const json& done = *s.last("conversation.item.input_audio_transcription.completed");
    EXPECT_EQ(done["transcript"], ScriptedSession::words(10));
    EXPECT_EQ(said(*s.last("response.done")), "Well, that was said. It is fine with me.");
    EXPECT_EQ(s.chats.size(), 1u) << "the answer was made in advance, and that one was it";
    EXPECT_EQ(s.chats[0]["messages"].back()["content"], ScriptedSession::words(10));
    // Speech begins at 400 ms; what is told has the padding before it.
    EXPECT_NEAR((*s.last("input_audio_buffer.speech_started"))["audio_start_ms"].get<double>(), 100, 50);
    EXPECT_NEAR((*s.last("input_audio_buffer.speech_stopped"))["audio_end_ms"].get<double>(), 1900, 70);
  }
}

// Speech of 0.6 s that begins at any place of the detector's windows, in messages of any size: what is
// understood is the sound from where the turn is said to begin up to the pause, sample for sample.
TEST(SessionVoice, WhatIsUnderstoodIsTheSoundOfTheTurn) {
  constexpr int kRate = 16000, kBefore = 6000, kSpeech = 9600, kAfter = 16000;
  for (int offset = 0; offset < 2 * kSileroWindow; offset += 61) {
    std::vector<int16_t> sound(static_cast<size_t>(kBefore + offset + kSpeech + kAfter));
    for (size_t i = 0; i < sound.size(); ++i) {
      const bool is_loud = i >= kBefore + static_cast<size_t>(offset) && i < sound.size() - kAfter;
      sound[i] = static_cast<int16_t>((is_loud ? 9000 : 0) + static_cast<int>(i * 7919 % 1000));
    }
    std::vector<float> first;
    for (const size_t n_piece :
         {size_t{320}, size_t{1}, size_t{511}, size_t{512}, size_t{1601}, sound.size()}) {
      if (n_piece == 1 && offset != 0) continue;
      ScriptedSession s;
      s.checker.checks_shapes = false;
      for (size_t at = 0; at < sound.size(); at += n_piece) {
        std::string bytes;
        for (size_t i = at; i < std::min(at + n_piece, sound.size()); ++i) {
          bytes += static_cast<char>(sound[i] & 0xff);
          bytes += static_cast<char>(sound[i] >> 8);
        }
        s.tell(R"({"type":"input_audio_buffer.append","audio":")" + to_base64(bytes) + "\"}");
      }
      s.run(2000);
      ASSERT_EQ(s.heard.size(), 1u) << s.log();
      const std::vector<float>& heard = s.heard.front();
      const auto begin =
          (*s.last("input_audio_buffer.speech_started"))["audio_start_ms"].get<size_t>() * kRate / 1000;
      const size_t speech_end = sound.size() - kAfter;
      ASSERT_LT(begin, kBefore);
      ASSERT_GT(begin + heard.size(), speech_end) << "all of the speech";
      EXPECT_LT(begin + heard.size(), speech_end + 5 * kSileroWindow) << "up to the pause";
      for (size_t i = 0; i < heard.size(); ++i)
        ASSERT_EQ(heard[i], static_cast<float>(sound[begin + i]) / 32768) << i << " of pieces of " << n_piece;
      if (first.empty()) first = heard;
      EXPECT_EQ(heard, first) << "pieces of " << n_piece;
    }
  }
}

// While somebody speaks, what will be answered is computed as far as it is known.
TEST(SessionVoice, WhatIsKnownIsWarmedWhenSomebodySpeaks) {
  ScriptedSession s;
  s.create("My name is Anna.");
  ASSERT_TRUE(s.warmed.empty()) << "there was nothing to begin with";
  s.hear(1000, true);
  ASSERT_EQ(s.warmed.size(), 1u);
  EXPECT_EQ(s.warmed[0].when, WhenWarm::soon);
  EXPECT_EQ(s.warmed[0].chat["messages"].back()["content"], "My name is Anna.");
  s.hear(700, false);
  s.run(200);
  s.hear(300, true);
  ASSERT_EQ((*s.last("response.done"))["response"]["status"], "completed") << "it is still being heard";
  ASSERT_EQ(s.warmed.size(), 2u);
  const std::string& cut = s.session->items().all()[2].parts[0].text;
  EXPECT_LT(cut.size(), said(*s.last("response.done")).size());
  EXPECT_EQ(s.warmed[1].chat["messages"].back()["content"], cut) << "what was heard of the answer";
}

// Nothing is computed when the silence has been long enough: it was there.
TEST(SessionVoice, TheFirstSoundComesWithTheEndOfTheTurn) {
  ScriptedSession s;
  s.hear(1000, true);
  s.hear(700, false);
  s.run(3000);
  double stopped = 0, first = 0;
  for (size_t i = 0; i < s.events.size(); ++i) {
    if (s.events[i]["type"] == "input_audio_buffer.speech_stopped") stopped = s.times[i];
    if (s.events[i]["type"] == "response.output_audio.delta" && first == 0) first = s.times[i];
  }
  EXPECT_LE(first - stopped, 2);
}

// A pause within the turn, of any length: one answer to all of it, or one to each part.
TEST(SessionVoice, APauseMayBeAnEndOrNot) {
  for (int pause = 60; pause < 900; pause += 40) {
    ScriptedSession s;
    s.checker.checks_shapes = false;
    transcribe(s);
    s.hear(600, true);
    s.hear(pause, false);
    s.hear(600, true);
    s.hear(800, false);
    s.run(5000);
    const size_t n_turns = s.n_of("input_audio_buffer.committed");
    if (pause <= 420) {
      EXPECT_EQ(n_turns, 1u) << pause;
    }
    if (pause >= 600) {
      EXPECT_EQ(n_turns, 2u) << pause;
    }
    EXPECT_EQ(s.n_of("conversation.item.input_audio_transcription.completed"), n_turns);
    size_t n_words = 0;
    for (const Item& item : s.session->items().all()) {
      if (item.role == Item::Role::user)
        n_words +=
            1 + static_cast<size_t>(std::count(item.parts[0].text.begin(), item.parts[0].text.end(), ' '));
    }
    EXPECT_NEAR(static_cast<double>(n_words), 12, 1) << pause << "\n" << s.log();
    EXPECT_EQ((*s.last("response.done"))["response"]["status"], "completed");
    EXPECT_EQ(s.n_open_ears, 0);
  }
}

TEST(SessionVoice, WhatIsTooShortOrWithoutWordsIsNotAnswered) {
  ScriptedSession s;
  transcribe(s);
  const size_t from = s.events.size();
  s.hear(100, true);  // a cough
  s.hear(800, false);
  s.run(1000);
  EXPECT_TRUE(s.matches("speech too short, or nothing understood", from));
  EXPECT_EQ((*s.last("conversation.item.input_audio_transcription.completed"))["transcript"], "");
  EXPECT_EQ(s.n_of("response.created"), 0u);
  EXPECT_FALSE(s.session->items().all().front().awaits_text());
}

TEST(SessionVoice, PushToTalk) {
  for (const Dialect dialect : {Dialect::ga, Dialect::beta}) {
    RealtimeScript script;
    script.dialect = dialect;
    ScriptedSession s(script);
    push_to_talk(s);
    s.hear(80, true);
    s.tell(R"({"type":"input_audio_buffer.commit"})");
    EXPECT_EQ((*s.last("error"))["error"]["code"], "input_audio_buffer_commit_empty");
    s.hear(520, true);
    const size_t from = s.events.size();
    s.tell(R"({"type":"input_audio_buffer.commit"})");
    s.tell(R"({"type":"response.create"})");
    s.run(4000);
    EXPECT_TRUE(s.matches("voice turn, manual", from));
    EXPECT_EQ(s.chats.back()["messages"].back()["content"], ScriptedSession::words(6)) << "nothing is lost";
    s.hear(500, true);
    s.tell(R"({"type":"input_audio_buffer.clear"})");
    s.tell(R"({"type":"input_audio_buffer.commit"})");
    EXPECT_EQ((*s.last("error"))["error"]["code"], "input_audio_buffer_commit_empty");
  }
}

TEST(SessionVoice, ABufferHasAnEnd) {
  ScriptedSession s;
  push_to_talk(s);
  const std::string minute(size_t{2} * 16000 * 60, '\0');
  const std::string event = R"({"type":"input_audio_buffer.append","audio":")" + to_base64(minute) + "\"}";
  for (int i = 0; i < 10; ++i) s.tell(event);
  EXPECT_EQ(s.n_of("error"), 0u);
  s.tell(event);
  EXPECT_EQ((*s.last("error"))["error"]["code"], "input_audio_buffer_full");
}

// Speech into an answer, at every 20 ms of it.
TEST(SessionVoice, IsInterruptedAtAnyMoment) {
  for (int at = 0; at < 1800; at += 20) {
    ScriptedSession s;
    s.checker.checks_shapes = at % 200 == 0;
    s.hear(600, true);
    s.hear(520 + at, false);
    s.hear(700, true);
    const json* const started = s.last("input_audio_buffer.speech_started");
    const json first = started ? *started : json();
    // What had been heard, by a clock that began with the first sound.
    double begin = 0, start = 0;
    size_t started_at = 0;
    for (size_t i = 0; i < s.events.size(); ++i) {
      if (s.events[i]["type"] == "response.output_audio.delta" && begin == 0) begin = s.times[i];
      if (s.events[i]["type"] == "input_audio_buffer.speech_started") {
        start = s.times[i];
        started_at = i;
      }
    }
    if (s.n_of("input_audio_buffer.speech_started") == 2 && begin > 0) {
      for (size_t i = started_at; i < s.events.size(); ++i)
        EXPECT_NE(s.events[i]["type"], "response.output_audio.delta") << at << "\n" << s.log();
      const Item* answer = nullptr;
      for (const Item& item : s.session->items().all()) {
        if (item.role == Item::Role::assistant) answer = &item;
      }
      ASSERT_TRUE(answer) << at;
      const std::string whole = "Well, that was said. It is fine with me.";
      EXPECT_TRUE(whole.starts_with(answer->parts[0].text)) << answer->parts[0].text;
      if (const json* const cut = s.last("conversation.item.truncated")) {
        EXPECT_NEAR((*cut)["audio_end_ms"].get<double>(), start - begin, 1.5) << at;
        EXPECT_LT(answer->parts[0].text.size(), whole.size());
      }
    }
    s.hear(800, false);
    s.run(5000);
    EXPECT_EQ((*s.last("response.done"))["response"]["status"], "completed");
    EXPECT_EQ(s.n_of("response.created"), s.n_of("response.done"));
    // The model remembers what was heard and no more.
    for (const json& message : s.chats.back()["messages"]) {
      if (message["role"] == "assistant") {
        EXPECT_EQ(message["content"], s.session->items().all()[1].parts[0].text);
      }
    }
  }
}

TEST(SessionVoice, TheSequenceOfAnInterruption) {
  ScriptedSession s;
  s.update(R"({"parlance":{"pace":0.3}})");
  s.hear(600, true);
  s.hear(900, false);  // the answer has begun, and is still being made
  ASSERT_EQ(s.n_of("response.output_audio.delta") > 0, true);
  const size_t from = s.events.size();
  s.hear(400, true);
  s.hear(800, false);
  EXPECT_TRUE(s.matches("barge-in", from));
  ASSERT_EQ(s.silenced_after_ms.size(), 1u);
  EXPECT_NEAR(s.silenced_after_ms[0], kSileroWindow / 16.0, 40) << "since speech began";
  s.run(5000);
}

TEST(SessionVoice, TheClientSaysExactlyWhatItHasPlayed) {
  ScriptedSession s;
  s.create("Hello");
  s.tell(R"({"type":"response.create"})");
  s.run(6000);
  const std::string id = (*s.last("response.done"))["response"]["output"][0]["id"];
  const auto truncate = [&](int64_t ms) {
    s.tell(R"({"type":"conversation.item.truncate","item_id":")" + id +
           R"(","content_index":0,"audio_end_ms":)" + std::to_string(ms) + "}");
    return s.session->items().find(id)->parts[0].text;
  };
  // "Well, that was said." takes 800 ms, "It is fine with me." 760 ms.
  EXPECT_EQ(truncate(1560), "Well, that was said. It is fine with me.");
  EXPECT_EQ(truncate(800), "Well, that was said.");
  EXPECT_EQ(truncate(799), "Well, that was");
  EXPECT_EQ(truncate(0), "");
  EXPECT_EQ(truncate(1559), "Well, that was said. It is fine with") << "later than before, too";
  EXPECT_EQ(s.n_of("conversation.item.truncated"), 5u);
  truncate(1561);
  EXPECT_EQ((*s.last("error"))["error"]["message"], "Audio content of 1560ms is already shorter than 1561ms");
  s.create("And?");
  s.tell(R"({"type":"response.create","response":{"output_modalities":["text"]}})");
  s.run(100);
  EXPECT_EQ(s.chats.back()["messages"][1]["content"], "Well, that was said. It is fine with");
  s.tell(R"({"type":"conversation.item.retrieve","item_id":")" + id + "\"}");
  const std::string audio = (*s.last("conversation.item.retrieved"))["item"]["content"][0]["audio"];
  EXPECT_EQ(from_base64(audio)->size(), 1559u * 48);
}

TEST(SessionVoice, AnAnswerThatMayNotBeInterruptedGoesOn) {
  ScriptedSession s;
  s.update(R"({"audio":{"input":{"turn_detection":{"type":"server_vad","interrupt_response":false}}}})");
  s.hear(600, true);
  s.hear(700, false);
  s.hear(600, true);
  s.hear(700, false);
  s.run(6000);
  EXPECT_EQ(s.n_of("response.done"), 2u);
  for (const json& event : s.events) {
    if (event["type"] == "response.done") {
      EXPECT_EQ(event["response"]["status"], "completed");
    }
  }
  EXPECT_EQ(s.n_of("conversation.item.truncated"), 0u);
}

TEST(SessionVoice, TurnsNeedNotBeAnswered) {
  ScriptedSession s;
  s.update(R"({"audio":{"input":{"turn_detection":{"type":"server_vad","create_response":false}}}})");
  s.hear(600, true);
  s.hear(700, false);
  s.run(2000);
  EXPECT_EQ(s.n_of("input_audio_buffer.committed"), 1u);
  EXPECT_EQ(s.chats.size(), 0u);
  s.tell(R"({"type":"response.create"})");
  s.run(3000);
  EXPECT_EQ(s.n_of("response.done"), 1u);
}

// A cancel at any moment from the end of a turn on: before there is a response none comes, and the turn's
// words are part of the conversation; a response ends; behind it there is nothing to cancel.
TEST(SessionVoice, IsCancelledAtAnyMoment) {
  RealtimeScript script;
  script.asr_ms = 560;  // known behind the end of the turn
  int n_before = 0, n_within = 0, n_behind = 0;
  for (int ms = 0; ms < 3600; ms += ms < 160 ? 1 : 100) {
    ScriptedSession s(script);
    transcribe(s);
    s.hear(600, true);
    while (s.n_of("input_audio_buffer.speech_stopped") == 0) s.hear(20, false);
    s.run(ms);
    const size_t n_created = s.n_of("response.created"), n_done = s.n_of("response.done");
    s.tell(R"({"type":"response.cancel"})");
    s.run(4000);
    SCOPED_TRACE(ms);
    EXPECT_EQ(s.n_of("response.created"), n_created) << s.log();
    EXPECT_EQ(s.n_of("response.done"), n_created);
    EXPECT_EQ(s.n_of("error"), n_done);
    EXPECT_EQ(s.n_of("conversation.item.input_audio_transcription.completed"), 1u);
    EXPECT_EQ(s.session->items().all().front().all_text(), ScriptedSession::words(6));
    if (n_created > n_done) {
      EXPECT_EQ((*s.last("response.done"))["response"]["status"], "cancelled");
    }
    ++(n_created == 0 ? n_before : n_done == 0 ? n_within : n_behind);
    s.hear(300, true);
    s.hear(700, false);
    s.run(1000);
    EXPECT_EQ(s.n_of("response.created"), n_created + 1) << "the next turn is answered";
    if (HasFailure()) return;
  }
  EXPECT_GT(n_before, 0);
  EXPECT_GT(n_within, 0);
  EXPECT_GT(n_behind, 0);
}

// The same while an answer goes on that may not be interrupted: neither it nor the turn's own is made any
// more, whether the turn's text is known by then or not.
TEST(SessionVoice, ACancelledAnswerTakesTheNextTurnsWithIt) {
  RealtimeScript script;
  script.asr_ms = 560;
  script.answer.clear();
  for (int i = 0; i < 16; ++i) script.answer.push_back({ReadPiece::Kind::words, " It is fine with me."});
  int n_unknown = 0, n_known = 0;
  for (int ms = 0; ms < 160; ms += 2) {
    SCOPED_TRACE(ms);
    ScriptedSession s(script);
    transcribe(s);
    s.update(R"({"audio":{"input":{"turn_detection":{"type":"server_vad","interrupt_response":false}}}})");
    s.hear(600, true);
    s.hear(1000, false);
    s.hear(600, true);
    while (s.n_of("input_audio_buffer.speech_stopped") < 2) s.hear(20, false);
    s.run(ms);
    ASSERT_EQ(s.n_of("response.created"), 1u);
    ASSERT_EQ(s.n_of("response.done"), 0u) << "it goes on";
    const bool is_known = s.n_of("conversation.item.input_audio_transcription.completed") == 2;
    ++(is_known ? n_known : n_unknown);
    s.tell(R"({"type":"response.cancel","response_id":")" +
           (*s.last("response.created"))["response"]["id"].get<std::string>() + "\"}");
    s.run(3000);
    EXPECT_EQ(s.n_of("conversation.item.input_audio_transcription.completed"), 2u);
    EXPECT_EQ(s.n_of("response.created"), 1u) << s.log();
    EXPECT_EQ((*s.last("response.done"))["response"]["status"], "cancelled");
    if (HasFailure()) return;
  }
  EXPECT_GT(n_unknown, 0);
  EXPECT_GT(n_known, 0);
}

// Two turns whose text is being made at once; a second cancel, one by a name, and one of a turn that is not
// to be answered find nothing.
TEST(SessionVoice, ACancelIsOfAllTurnsThatHaveEnded) {
  const auto end_turn = [](ScriptedSession& s) {
    const size_t n = s.n_of("input_audio_buffer.speech_stopped");
    s.hear(300, true);
    while (s.n_of("input_audio_buffer.speech_stopped") == n) s.hear(20, false);
  };
  RealtimeScript script;
  script.asr_ms = 2000;
  for (const int n_cancels : {1, 2}) {
    ScriptedSession s(script);
    end_turn(s);
    end_turn(s);
    for (int i = 0; i < n_cancels; ++i) s.tell(R"({"type":"response.cancel"})");
    s.run(6000);
    EXPECT_EQ(s.n_of("response.created"), 0u) << s.log();
    EXPECT_EQ(s.n_of("error"), static_cast<size_t>(n_cancels - 1));
  }
  ScriptedSession named(script);
  end_turn(named);
  named.tell(R"({"type":"response.cancel","response_id":"resp_other"})");
  named.run(6000);
  EXPECT_EQ((*named.last("error"))["error"]["code"], "response_cancel_not_active");
  EXPECT_EQ(named.n_of("response.done"), 1u);
  ScriptedSession unanswered(script);
  unanswered.update(
      R"({"audio":{"input":{"turn_detection":{"type":"server_vad","create_response":false}}}})");
  end_turn(unanswered);
  unanswered.tell(R"({"type":"response.cancel"})");
  EXPECT_EQ((*unanswered.last("error"))["error"]["code"], "response_cancel_not_active");
}

TEST(SessionVoice, DoubtIsResolvedByWords) {
  const auto begin = [](ScriptedSession& s) {
    s.update(
        R"({"parlance":{"events":["barge_in","timing","state","partial"],"barge_in":"confirm","pace":0.3}})");
    s.hear(600, true);
    s.hear(900, false);
    ASSERT_GT(s.n_of("response.output_audio.delta"), 0u);
  };
  {
    ScriptedSession s;  // a cough
    begin(s);
    s.hear(60, true);
    s.hear(800, false);
    s.run(5000);
    EXPECT_EQ((*s.last("parlance.barge_in"))["phase"], "dismissed") << s.log();
    EXPECT_EQ((*s.last("response.done"))["response"]["status"], "completed");
    EXPECT_EQ(s.n_of("conversation.item.truncated"), 0u);
  }
  {
    ScriptedSession s;  // words
    begin(s);
    s.hear(500, true);
    EXPECT_EQ((*s.last("parlance.barge_in"))["phase"], "confirmed") << s.log();
    EXPECT_EQ((*s.last("response.done"))["response"]["status"], "cancelled");
    s.hear(700, false);
    s.run(5000);
    EXPECT_EQ((*s.last("response.done"))["response"]["status"], "completed");
    EXPECT_GT(s.n_of("parlance.timing"), 1u);
    EXPECT_GT(s.n_of("parlance.partial"), 1u);
    EXPECT_EQ((*s.last("parlance.state"))["state"], "idle");
    const json& ms = (*s.last("parlance.timing"))["ms"];
    EXPECT_EQ(ms["vad-speech-end"], 0);
    EXPECT_GT(ms["audio-first-played"].get<double>(), 400);
  }
}

TEST(SessionVoice, SpeechThatIsClearedIsForgotten) {
  ScriptedSession s;
  for (int ms = 40; ms < 1000; ms += 60) {
    s.hear(600, true);
    s.hear(ms % 500, false);
    s.tell(R"({"type":"input_audio_buffer.clear"})");
    s.hear(700, false);
    s.run(100);
  }
  EXPECT_EQ(s.n_of("input_audio_buffer.committed"), s.n_of("response.created"));
  s.hear(600, true);
  s.hear(700, false);
  s.run(3000);
  EXPECT_EQ((*s.last("response.done"))["response"]["status"], "completed");
}

TEST(SessionVoice, TranscriptionSessions) {
  for (const Dialect dialect : {Dialect::ga, Dialect::beta}) {
    RealtimeScript script;
    script.dialect = dialect;
    script.kind = SessionKind::transcription;
    ScriptedSession s(script);
    EXPECT_EQ(s.events[0]["type"],
              dialect == Dialect::ga ? "session.created" : "transcription_session.created");
    if (dialect == Dialect::beta) {
      s.tell(
          R"({"type":"transcription_session.update","session":{"input_audio_transcription":{"language":"en"}}})");
      EXPECT_EQ(s.events.back()["type"], "transcription_session.updated");
    }
    const size_t from = s.events.size();
    for (int i = 0; i < 2; ++i) {
      s.hear(700, true);
      s.hear(800, false);
    }
    s.run(500);
    EXPECT_TRUE(s.matches("transcription session", from));
    EXPECT_EQ(s.n_of("conversation.item.input_audio_transcription.completed"), 2u);
    EXPECT_EQ((*s.last("conversation.item.input_audio_transcription.completed"))["transcript"],
              ScriptedSession::words(7));
    s.tell(R"({"type":"response.create"})");
    EXPECT_EQ((*s.last("error"))["error"]["code"], "unsupported_event");
    EXPECT_TRUE(s.chats.empty());
  }
}

TEST(SessionVoice, WordsThatWereToldStayTold) {
  RealtimeScript script;
  script.has_unstable_ears = true;
  ScriptedSession s(script);
  transcribe(s);
  s.hear(1000, true);
  s.hear(700, false);
  s.run(3000);
  // The checker compares deltas with the whole.
  EXPECT_EQ((*s.last("conversation.item.input_audio_transcription.completed"))["transcript"],
            ScriptedSession::words(10));
  EXPECT_EQ((*s.last("response.done"))["response"]["status"], "completed");
  // What is answered is what was understood in the end, and its draft is as good as before.
  ASSERT_EQ(s.chats.size(), 1u);
  EXPECT_EQ(s.chats[0]["messages"][0]["content"], "v" + ScriptedSession::words(10).substr(1));
}

TEST(SessionVoice, EarsAreWaitedFor) {
  RealtimeScript script;
  script.n_ears = 0;
  ScriptedSession s(script);
  transcribe(s);
  s.hear(600, true);
  s.hear(700, false);
  s.run(1000);
  EXPECT_EQ(s.n_of("input_audio_buffer.committed"), 1u);
  EXPECT_EQ(s.n_of("response.created"), 0u);
  s.script.n_ears = 1;
  s.run(4000);
  ASSERT_EQ(s.n_of("conversation.item.input_audio_transcription.completed"), 1u) << s.log();
  EXPECT_EQ((*s.last("conversation.item.input_audio_transcription.completed"))["transcript"],
            ScriptedSession::words(6));
  EXPECT_EQ(s.n_of("response.done"), 1u);
}

TEST(SessionVoice, SoundInAnItemIsUnderstoodBeforeItIsAnswered) {
  ScriptedSession s;
  std::string sound;
  for (int i = 0; i < 16000; ++i) sound += std::string("\x00\x28", 2);
  s.tell(
      R"({"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":")" +
      to_base64(sound) + "\"}]}}");
  s.tell(R"({"type":"response.create"})");
  EXPECT_TRUE(s.chats.empty());
  s.run(4000);
  ASSERT_EQ(s.chats.size(), 1u);
  EXPECT_EQ(s.chats[0]["messages"][0]["content"], ScriptedSession::words(10));
}

TEST(SessionVoice, TheSilenceGoesByTheMeaning) {
  const auto silence_with = [](std::optional<double> probability, const char* eagerness) {
    RealtimeScript script;
    script.end_probability = probability;
    ScriptedSession s(script);
    s.checker.is_cut = true;
    s.update(std::string(R"({"audio":{"input":{"turn_detection":{"type":"semantic_vad","eagerness":")") +
             eagerness + "\"}}}}");
    s.hear(640, true);
    for (int ms = 0; ms < 9000; ms += 20) {
      s.hear(20, false);
      if (s.n_of("input_audio_buffer.speech_stopped") == 1) return static_cast<double>(ms) + 20;
    }
    return 9999.0;
  };
  EXPECT_NEAR(silence_with(0.95, "auto"), 250, 50);
  EXPECT_NEAR(silence_with(0.5, "auto"), 250 + 3750 * 0.25, 50);
  EXPECT_NEAR(silence_with(0.5, "high"), 250 + 1750 * 0.25, 50);
  EXPECT_NEAR(silence_with(0.0, "low"), 8000, 60);
  EXPECT_NEAR(silence_with({}, "high"), 2000, 60);
}

TEST(SessionVoice, SomebodyWhoSaysNothingIsSpokenTo) {
  ScriptedSession s;
  s.checker.is_cut = true;
  s.update(R"({"audio":{"input":{"turn_detection":{"type":"server_vad","idle_timeout_ms":2000}}}})");
  s.hear(5000, false);
  EXPECT_EQ(s.n_of("input_audio_buffer.timeout_triggered"), 0u) << "nobody has said anything yet";
  s.hear(600, true);
  s.hear(600, false);
  s.hear(3000, false);  // the answer takes 1.6 s of these
  EXPECT_EQ(s.n_of("input_audio_buffer.timeout_triggered"), 0u);
  s.hear(1500, false);
  EXPECT_EQ(s.n_of("input_audio_buffer.timeout_triggered"), 1u) << s.log();
  s.run(2000);
  EXPECT_GE(s.n_of("response.done"), 2u);
  EXPECT_EQ(s.chats.back()["messages"].back(), json({{"role", "user"}, {"content", ""}}));
}

TEST(SessionVoice, PlaybackIsWhatTheClientSays) {
  ScriptedSession s;
  s.update(R"({"parlance":{"playback":true}})");
  s.hear(600, true);
  s.hear(1500, false);
  EXPECT_EQ(s.n_of("output_audio_buffer.started"), 1u);
  const std::string id = (*s.last("response.output_audio.delta"))["item_id"];
  s.tell(R"({"type":"parlance.playback","item_id":")" + id + R"(","played_ms":800})");
  s.hear(400, true);
  EXPECT_EQ((*s.last("conversation.item.truncated"))["audio_end_ms"], 800);
  EXPECT_EQ(s.session->items().find(id)->parts[0].text, "Well, that was said.");
  EXPECT_EQ(s.n_of("output_audio_buffer.cleared"), 1u);
  s.hear(700, false);
  s.run(6000);
  EXPECT_EQ(s.n_of("output_audio_buffer.stopped"), 1u);
  EXPECT_EQ(s.n_of("error"), 0u);
}

TEST(SessionVoice, SoundMayComeAsBytes) {
  ScriptedSession s;
  s.session->take_binary("abc");
  EXPECT_EQ((*s.last("error"))["error"]["code"], "invalid_event");
  s.update(R"({"audio":{"input":{"turn_detection":null}},"parlance":{"binary_audio":true}})");
  std::string sound;
  for (int i = 0; i < 9600; ++i) sound += std::string("\x00\x28", 2);
  for (size_t at = 0; at < sound.size(); at += 333) {  // an odd number
    s.session->take_binary(sound.substr(at, 333));
  }
  s.tell(R"({"type":"input_audio_buffer.commit"})");
  s.tell(R"({"type":"response.create"})");
  s.run(4000);
  EXPECT_EQ(s.chats.back()["messages"].back()["content"], ScriptedSession::words(6));
  size_t n_bytes = 0, n_told = 0;
  for (const std::string& bytes : s.binary) n_bytes += bytes.size();
  for (const json& event : s.events) {
    if (event["type"] == "response.output_audio.delta") n_told += event["bytes"].get<size_t>();
  }
  EXPECT_EQ(n_bytes, n_told);
  EXPECT_EQ(n_bytes, std::string("Well, that was said.It is fine with me.").size() * 40 * 48);
}

TEST(SessionVoice, SpeaksAndHearsLikeATelephone) {
  for (const char* type : {"audio/pcmu", "audio/pcma"}) {
    RealtimeScript script;
    script.dialect = Dialect::ga;
    ScriptedSession s(script);
    s.update(std::string(R"({"audio":{"input":{"format":{"type":")") + type +
             R"("},"turn_detection":null},"output":{"format":{"type":")" + type + "\"}}}}");
    std::string sound(4800, type == std::string("audio/pcmu") ? '\x9f' : '\xb5');  // loud
    s.tell(R"({"type":"input_audio_buffer.append","audio":")" + to_base64(sound) + "\"}");
    s.tell(R"({"type":"input_audio_buffer.commit"})");
    s.tell(R"({"type":"response.create"})");
    s.run(4000);
    EXPECT_EQ(s.chats.back()["messages"].back()["content"], ScriptedSession::words(6));
    size_t n_bytes = 0;
    for (const json& event : s.events) {
      if (event["type"] == "response.output_audio.delta")
        n_bytes += from_base64(event["delta"].get<std::string>())->size();
    }
    EXPECT_EQ(n_bytes, std::string("Well, that was said.It is fine with me.").size() * 40 * 8);
  }
}

// The client leaves, or the server ends, at any moment of two turns.
TEST(SessionVoice, EndsAtAnyMoment) {
  for (int at = 0; at < 3600; at += 60) {
    ScriptedSession s;
    s.checker.checks_shapes = false;
    s.checker.is_cut = true;
    transcribe(s);
    for (int ms = 0; ms < at; ms += 60) s.hear(60, ms % 1800 < 600);
    if (at % 120 == 0) {
      s.session->drain();
      s.run(4000);
      if (s.closed_with == 0) {  // somebody was speaking: what he says is finished, too
        s.hear(900, false);
        s.run(4000);
      }
      EXPECT_EQ(s.closed_with, 1001) << at;
    }
  }
}

}  // namespace
}  // namespace parlance
