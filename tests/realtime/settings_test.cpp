#include "realtime/settings.h"

#include <gtest/gtest.h>

#include "server/support/schema.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

SessionOffer an_offer() {
  SessionOffer offer;
  offer.model = "demo";
  offer.asr_model = "demo-asr";
  offer.find_voice = [](std::string_view name) -> RealtimeResult<std::string> {
    if (name == "alloy") return std::string("default");
    if (name == "default" || name == "anna") return std::string(name);
    return reject("invalid_value", {}, "there is no voice {}", name);
  };
  return offer;
}

RealtimeResult<SessionSettings> change(const SessionSettings& now, const char* json,
                                       Dialect dialect = Dialect::ga, const SettingsLocks& locks = {}) {
  return changed_settings(now, *Json::parse(json), an_offer(), dialect, locks);
}

std::string shown(const SessionSettings& settings, const char* path, Dialect dialect = Dialect::ga) {
  const auto value = member_at(shown_settings(settings, an_offer(), dialect, "sess_x"), path);
  return value ? value->line() : "absent";
}

const SessionSettings kFirst = first_settings(an_offer(), SessionKind::conversation);

TEST(Settings, AreShownAsTheShapesSay) {
  PARLANCE_REQUIRE_FIXTURES("server/shapes");
  for (const auto& [dialect, name] : {std::pair(Dialect::ga, "ga"), std::pair(Dialect::beta, "beta")}) {
    const auto shapes = test::read_json(test::fixtures_root() / "server/shapes" /
                                        ("realtime_" + std::string(name) + ".json"));
    for (
        const char* update :
        {"{}", R"({"turn_detection":null,"audio":{"input":{"turn_detection":null}}})",
         R"({"input_audio_transcription":{},"audio":{"input":{"transcription":{"language":"en","keywords":["Ann"]}}}})",
         R"({"input_audio_format":"g711_alaw","audio":{"input":{"format":{"type":"audio/pcma"}}}})"}) {
      const auto settings = change(kFirst, update, dialect);
      ASSERT_TRUE(settings) << settings.error().message;
      const auto json = nlohmann::json::parse(
          shown_settings(*settings, an_offer(), dialect, "sess_abcdefghijklmnopqrstuvwx").line());
      EXPECT_EQ(test::breach_of(shapes["$defs"]["session"], json, shapes), "") << name << " " << update;
    }
  }
}

TEST(Settings, TheLanguageIsOneThatTheRecogniserKnows) {
  SessionOffer offer = an_offer();
  offer.check_language = [](std::string_view name) -> RealtimeResult<void> {
    if (name == "en") return {};
    return reject("invalid_value", std::nullopt, "there is en, not {}", name);
  };
  const auto with = [&](const std::string& language) {
    const std::string update = R"({"audio":{"input":{"transcription":{"language":)" + language + "}}}}";
    return changed_settings(kFirst, *Json::parse(update), offer, Dialect::ga);
  };
  for (const char* language : {"\"en\"", "\"\"", "null"}) EXPECT_TRUE(with(language)) << language;
  const auto refused = with("\"tlh\"");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "session.audio.input.transcription.language");
  EXPECT_EQ(refused.error().message, "there is en, not tlh");
}

TEST(Settings, OnlyWhatIsGivenChanges) {
  const auto once =
      change(kFirst, R"({"type":"realtime","instructions":"Be kind.","audio":{"output":{"speed":1.25}}})");
  ASSERT_TRUE(once) << once.error().message;
  const auto twice =
      change(*once, R"({"audio":{"input":{"turn_detection":{"type":"server_vad","threshold":0.7}}}})");
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->instructions, "Be kind.");
  EXPECT_EQ(twice->speed, 1.25);
  EXPECT_EQ(twice->turns.threshold, 0.7);
  const auto thrice = change(*twice, R"({"audio":{"input":{"turn_detection":{"silence_duration_ms":200}}}})");
  ASSERT_TRUE(thrice);
  EXPECT_EQ(thrice->turns.threshold, 0.7);
  EXPECT_EQ(thrice->turns.silence_duration_ms, 200);
  const auto other = change(*thrice, R"({"audio":{"input":{"turn_detection":{"type":"semantic_vad"}}}})");
  ASSERT_TRUE(other);
  EXPECT_EQ(shown(*other, "audio.input.turn_detection"),
            R"({"type":"semantic_vad","eagerness":"auto","create_response":true,"interrupt_response":true})");
  const auto cleared = change(*thrice, R"({"instructions":null,"audio":{"input":{"turn_detection":null}}})");
  ASSERT_TRUE(cleared);
  EXPECT_EQ(cleared->instructions, "");
  EXPECT_EQ(shown(*cleared, "audio.input.turn_detection"), "null");
  EXPECT_EQ(cleared->speed, 1.25);
}

TEST(Settings, DialectsHaveTheirOwnNames) {
  const char* flat =
      R"({"modalities":["text"],"voice":"alloy","temperature":0.5,"max_response_output_tokens":12,)"
      R"("input_audio_format":"g711_ulaw","input_audio_transcription":{"model":"whisper-1"}})";
  const auto beta = change(kFirst, flat, Dialect::beta);
  ASSERT_TRUE(beta) << beta.error().message;
  EXPECT_FALSE(beta->speaks);
  EXPECT_EQ(beta->temperature, 0.5);
  EXPECT_EQ(shown(*beta, "input_audio_format", Dialect::beta), "\"g711_ulaw\"");
  EXPECT_EQ(shown(*beta, "voice", Dialect::beta), "\"default\"");
  EXPECT_EQ(shown(*beta, "input_audio_transcription", Dialect::beta),
            R"({"model":"demo-asr","language":null,"prompt":null})");
  EXPECT_EQ(shown(*beta, "max_response_output_tokens", Dialect::beta), "12");
  const auto ga = change(kFirst, flat);
  ASSERT_TRUE(ga);  // names that are unknown there
  EXPECT_TRUE(ga->speaks);
}

TEST(Settings, WhatCannotBeIsRefusedByName) {
  const SettingsLocks late{.has_heard = true, .has_spoken = true};
  const std::pair<const char*, const char*> cases[] = {
      {R"({"type":"transcription"})", "session.type"},
      {R"({"model":"another"})", "session.model"},
      {R"({"instructions":3})", "session.instructions"},
      {R"({"output_modalities":[]})", "session.output_modalities"},
      {R"({"output_modalities":["smell"]})", "session.output_modalities"},
      {R"({"audio":{"input":{"format":{"type":"audio/pcm","rate":44100}}}})", "session.audio.input.format"},
      {R"({"audio":{"input":{"format":{"type":"audio/pcmu"}}}})", "session.audio.input.format"},
      {R"({"audio":{"input":{"turn_detection":{"type":"magic"}}}})",
       "session.audio.input.turn_detection.type"},
      {R"({"audio":{"input":{"turn_detection":{"type":"server_vad","threshold":2}}}})",
       "session.audio.input.turn_detection.threshold"},
      {R"({"audio":{"input":{"turn_detection":{"idle_timeout_ms":10}}}})",
       "session.audio.input.turn_detection.idle_timeout_ms"},
      {R"({"audio":{"output":{"voice":"nobody"}}})", "session.audio.output.voice"},
      {R"({"audio":{"output":{"voice":"anna"}}})", "session.audio.output.voice"},
      {R"({"audio":{"output":{"speed":9}}})", "session.audio.output.speed"},
      {R"({"tools":[{"type":"mcp"}]})", "session.tools[0].type"},
      {R"({"tools":[{"type":"function","name":"a b"}]})", "session.tools[0].name"},
      {R"({"tool_choice":"perhaps"})", "session.tool_choice"},
      {R"({"max_output_tokens":0})", "session.max_output_tokens"},
      {R"({"truncation":{"type":"retention_ratio","retention_ratio":2}})",
       "session.truncation.retention_ratio"},
      {R"({"reasoning":{"effort":"much"}})", "session.reasoning.effort"},
      {R"({"parlance":{"events":["everything"]}})", "session.parlance.events"},
  };
  for (const auto& [update, param] : cases) {
    const auto changed = change(kFirst, update, Dialect::ga, late);
    ASSERT_FALSE(changed) << update;
    EXPECT_EQ(changed.error().code, "invalid_value");
    EXPECT_EQ(changed.error().param, param) << update;
    EXPECT_FALSE(changed.error().message.empty());
  }
}

TEST(Settings, AResponseMayDiffer) {
  const auto settings = settings_of_response(
      kFirst, *Json::parse(R"({"instructions":"Once.","output_modalities":["text"],"max_output_tokens":5})"),
      an_offer(), Dialect::ga, {});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->instructions, "Once.");
  EXPECT_FALSE(settings->speaks);
  EXPECT_EQ(settings->n_most_tokens, 5);
  EXPECT_EQ(settings_of_response(kFirst, *Json::parse(R"({"max_output_tokens":"lots"})"), an_offer(),
                                 Dialect::ga, {})
                .error()
                .param,
            "response.max_output_tokens");
}

}  // namespace
}  // namespace parlance
