// What manifests are read as, and what those that are none are answered with: one line that names the file,
// the field, what was expected and what to do.
#include "bundle/manifest.h"

#include "bundle/support/manifests.h"
#include "gtest/gtest.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;
using test::demo_manifest;
using test::product_manifest;

void expect_refused(const std::string& text, const std::vector<std::string>& words) {
  const auto manifest = parse_manifest("m.json", text);
  ASSERT_FALSE(manifest) << "accepted: " << text.substr(0, 2000);
  const std::string& message = manifest.error().message;
  EXPECT_EQ(manifest.error().code, ErrorCode::corrupt_file);
  EXPECT_TRUE(message.starts_with("m.json: ")) << message;
  EXPECT_NE(message.find("expected "), std::string::npos) << message;
  EXPECT_NE(message.find("parlance bundle make"), std::string::npos) << message;
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << "no '" << word << "' in: " << message;
  }
}

// The manifest with one value changed, added, or, for null, taken out.
std::string with(json manifest, const char* where, const json& value) {
  const json::json_pointer place(where);
  if (value.is_null()) {
    manifest.at(place.parent_pointer()).erase(place.back());
  } else {
    manifest[place] = value;
  }
  return manifest.dump();
}

TEST(Manifest, ReadsAProduct) {
  const auto manifest = parse_manifest("m.json", product_manifest().dump());
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->id, "eliza-1-9b");
  EXPECT_EQ(manifest->tier, "9b");
  EXPECT_EQ(manifest->version, "1.0.0");
  EXPECT_EQ(manifest->files_of("text").at(0).ctx, 131072);
  EXPECT_EQ(manifest->files_of("voice").size(), 2u);
  EXPECT_EQ(manifest->files_of("turn").size(), 0u);
  EXPECT_NE(manifest->find_group("turn"), nullptr);
  EXPECT_EQ(manifest->find_group("wakeword"), nullptr);
  EXPECT_EQ(manifest->drafter_files().at(0).path, "dflash/drafter-9b.gguf");
  EXPECT_EQ(manifest->find_lineage("asr")->license, "Apache-2.0");
  EXPECT_EQ(manifest->required_kernels.size(), 4u);
  EXPECT_EQ(manifest->backends.size(), 5u);
  ASSERT_NE(manifest->find_eval("asrWer"), nullptr);
  EXPECT_EQ(manifest->find_eval("asrWer")->figures.at(0).second, 0.05);
  EXPECT_TRUE(manifest->find_eval("dflash")->figures.empty());
  EXPECT_EQ(manifest->find_eval("thirtyTurnOk")->has_passed, true);
  EXPECT_EQ(manifest->ram_recommended_mb, 9500);
  EXPECT_TRUE(manifest->has_provenance);
  EXPECT_TRUE(manifest->is_default_eligible);
}

TEST(Manifest, ReadsTheLeastOfADemo) {
  const auto manifest = parse_manifest("m.json", demo_manifest().dump());
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->files_of("text").at(0).ctx, 512);
  EXPECT_TRUE(manifest->files_of("voice").empty());
}

TEST(Manifest, KnowsBothNamesOfDrafters) {
  json manifest = product_manifest();
  manifest["files"]["mtp"] = manifest["files"]["dflash"];
  manifest["files"].erase("dflash");
  manifest["evals"]["mtp"] = {{"acceptanceRate", 0.65}, {"speedup", 1.5}, {"passed", true}};
  const auto parsed = parse_manifest("m.json", manifest.dump());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->drafter_files().size(), 1u);
}

TEST(Manifest, RefusesTextsThatAreNone) {
  expect_refused("", {"JSON"});
  expect_refused("[1, 2", {"JSON"});
  expect_refused("[]", {"an object", "a list of 0"});
  expect_refused("{}", {"id"});
  expect_refused(std::string(100000, '['), {"JSON"});
  expect_refused(std::string(100000, '[') + std::string(100000, ']'), {"levels"});
  expect_refused(std::string(kMostManifestBytes + 1, ' '), {"bytes"});
  expect_refused("{\"id\": \"\x01\xff\"}", {"JSON"});
}

TEST(Manifest, NamesTheFieldThatIsWrong) {
  struct Case {
    const char* where;
    json value;
    std::vector<std::string> words;
  };
  const std::string upper(64, 'A'), short_sum(63, 'a'), not_hex(64, 'g'), long_text(1001, 'x');
  const json one_file = test::manifest_file("a.gguf");
  const std::vector<Case> cases = {
      {"/$schema", 5, {"$schema"}},
      {"/id", nullptr, {"id", "found nothing"}},
      {"/id", "", {"id"}},
      {"/id", long_text, {"id", "1000 bytes"}},
      {"/id", "eliza-1-9b\n", {"id", "letters"}},
      {"/id", "eliza-1-4b", {"id", "eliza-1-9b", "eliza-1-4b"}},
      {"/id", "eliza-1-9bx", {"id", "eliza-1-9b"}},
      {"/tier", "9 b", {"tier"}},
      {"/tier", 9, {"tier", "found 9"}},
      {"/version", "1.0", {"version", "1.0.0", "found \"1.0\""}},
      {"/version", "v1.0.0", {"version"}},
      {"/version", "1.0.0-", {"version"}},
      {"/version", "1.0.0 ", {"version"}},
      {"/publishedAt", "2026-05-11", {"publishedAt", "UTC"}},
      {"/publishedAt", "2026-13-11T08:00:00Z", {"publishedAt"}},
      {"/publishedAt", "2026-05-11T24:00:00Z", {"publishedAt"}},
      {"/publishedAt", "2026-05-11T08:00:00+01:00", {"publishedAt"}},
      {"/lineage", nullptr, {"lineage", "an object"}},
      {"/lineage/text", nullptr, {"lineage.text", "files.text"}},
      {"/lineage/asr", nullptr, {"lineage.asr", "files.asr"}},
      {"/lineage/drafter", nullptr, {"lineage.drafter", "files.dflash"}},
      {"/lineage/text/license", nullptr, {"lineage.text.license"}},
      {"/lineage/text/base", 7, {"lineage.text.base", "found 7"}},
      {"/files", json::array(), {"files", "an object"}},
      {"/files/text", json::object(), {"files.text", "a list"}},
      {"/files/text", json::array(), {"files.text", "at least one"}},
      {"/files/voice", json::array(), {"files.voice", "at least one"}},
      {"/files/asr", nullptr, {"files.asr", "a list"}},
      {"/files/vision", nullptr, {"files.vision", "a list"}},
      {"/files/dflash", nullptr, {"dflash or mtp"}},
      {"/files/cache", json::array({one_file}), {"files.cache", "cache/voice-preset-default.bin"}},
      {"/files/turn", json::array({5}), {"files.turn[0]", "an object"}},
      {"/files/turn", json::array({one_file, one_file}), {"files.turn", "a.gguf twice"}},
      {"/files/turn", json(std::vector<json>(kMostManifestFiles, one_file)), {"files.", "1024"}},
      {"/files/asr/1/path", nullptr, {"files.asr[1].path"}},
      {"/files/asr/1/path", "/etc/passwd", {"files.asr[1].path", "below"}},
      {"/files/asr/1/path", "../asr.gguf", {"files.asr[1].path"}},
      {"/files/asr/1/path", "asr/../../asr.gguf", {"files.asr[1].path"}},
      {"/files/asr/1/path", "asr//asr.gguf", {"files.asr[1].path"}},
      {"/files/asr/1/path", "asr/", {"files.asr[1].path"}},
      {"/files/asr/1/path", "./asr.gguf", {"files.asr[1].path"}},
      {"/files/asr/1/path", "asr\\asr.gguf", {"files.asr[1].path"}},
      {"/files/asr/1/path", "C:asr.gguf", {"files.asr[1].path"}},
      {"/files/asr/1/path", "asr\n.gguf", {"files.asr[1].path"}},
      {"/files/asr/1/path", std::string(600, 'a'), {"files.asr[1].path"}},
      {"/files/asr/0/sha256", nullptr, {"files.asr[0].sha256"}},
      {"/files/asr/0/sha256", upper, {"files.asr[0].sha256", "lower case"}},
      {"/files/asr/0/sha256", short_sum, {"files.asr[0].sha256"}},
      {"/files/asr/0/sha256", not_hex, {"files.asr[0].sha256"}},
      {"/files/text/0/ctx", "long", {"files.text[0].ctx", "whole number"}},
      {"/files/text/0/ctx", 0, {"files.text[0].ctx"}},
      {"/files/text/0/ctx", 1.5, {"files.text[0].ctx"}},
      {"/files/text/0/ctx", 18446744073709551615u, {"files.text[0].ctx"}},
      {"/files/text/0/ctx", nullptr, {"files.text", "131072", "demo"}},
      {"/files/text/0/ctx", 65536, {"files.text", "131072", "65536", "demo"}},
      {"/kernels", nullptr, {"kernels"}},
      {"/kernels/required", "qjl", {"kernels.required", "a list"}},
      {"/kernels/required", json::array(), {"kernels.required", "qjl"}},
      {"/kernels/required", json::array({"qjl"}), {"kernels.required", "polarquant", "8192"}},
      {"/kernels/optional", json::array({5}), {"kernels.optional[0]", "a name"}},
      {"/kernels/optional", nullptr, {"kernels.optional"}},
      {"/kernels/verifiedBackends", nullptr, {"kernels.verifiedBackends"}},
      {"/kernels/verifiedBackends/cuda/status", "maybe", {"verifiedBackends.cuda.status", "skipped"}},
      {"/kernels/verifiedBackends/cuda/atCommit", "", {"verifiedBackends.cuda.atCommit"}},
      {"/kernels/verifiedBackends/cuda/report", nullptr, {"verifiedBackends.cuda.report"}},
      {"/evals", nullptr, {"evals"}},
      {"/evals/textEval", nullptr, {"evals.textEval"}},
      {"/evals/voiceRtf", nullptr, {"evals.voiceRtf"}},
      {"/evals/e2eLoopOk", nullptr, {"evals.e2eLoopOk"}},
      {"/evals/thirtyTurnOk", "yes", {"evals.thirtyTurnOk", "true or false"}},
      {"/evals/textEval", true, {"evals.textEval", "an object"}},
      {"/evals/textEval/score", 1.5, {"evals.textEval.score", "from 0 to 1"}},
      {"/evals/textEval/score", nullptr, {"evals.textEval.score"}},
      {"/evals/textEval/passed", nullptr, {"evals.textEval.passed"}},
      {"/evals/voiceRtf/rtf", -1, {"evals.voiceRtf.rtf"}},
      {"/evals/asrWer/wer", "low", {"evals.asrWer.wer"}},
      {"/evals/vadLatencyMs/falseBargeInRate", 2, {"evals.vadLatencyMs.falseBargeInRate"}},
      {"/evals/dflash/acceptanceRate", 2, {"evals.dflash.acceptanceRate"}},
      {"/ramBudgetMb", nullptr, {"ramBudgetMb"}},
      {"/ramBudgetMb/min", 0, {"ramBudgetMb.min"}},
      {"/ramBudgetMb/min", 9501, {"ramBudgetMb.recommended", "9501", "9500"}},
      {"/ramBudgetMb/recommended", 1.5, {"ramBudgetMb.recommended"}},
      {"/voice/version", nullptr, {"voice.version"}},
      {"/voice/frozen", false, {"voice.frozen", "true"}},
      {"/voice/cache", nullptr, {"voice.cache"}},
      {"/voice/cache/speakerPreset", "cache/other.bin", {"voice.cache", "cache/other.bin"}},
      {"/voice/cache/phraseCacheSeed", "", {"voice.cache.phraseCacheSeed"}},
      {"/voice/capabilities", "tts", {"voice.capabilities"}},
      {"/provenance/finetuned", 1, {"provenance.finetuned"}},
      {"/provenance/sourceModels/text/repo", nullptr, {"provenance.sourceModels.text.repo"}},
      {"/releaseChannel", "nightly", {"releaseChannel", "base-v1"}},
      {"/defaultEligible", nullptr, {"defaultEligible"}},
      {"/defaultEligible", "yes", {"defaultEligible"}},
      {"/evals/asrWer/passed", false, {"defaultEligible", "evals.asrWer"}},
      {"/evals/thirtyTurnOk", false, {"defaultEligible", "evals.thirtyTurnOk"}},
      {"/kernels/verifiedBackends/vulkan/status", "fail", {"defaultEligible", "vulkan"}},
      {"/kernels/verifiedBackends", json::object(), {"defaultEligible", "verifiedBackends"}},
      {"/releaseChannel", "base-v1", {"defaultEligible", "base-v1"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.where) + " = " + c.value.dump().substr(0, 100));
    expect_refused(with(product_manifest(), c.where, c.value), c.words);
  }
}

TEST(Manifest, ABaseReleaseSaysItsSources) {
  json manifest = product_manifest();
  manifest["releaseChannel"] = "base-v1";
  manifest["defaultEligible"] = false;
  EXPECT_TRUE(parse_manifest("m.json", manifest.dump()));
  manifest.erase("provenance");
  expect_refused(manifest.dump(), {"provenance", "base-v1"});
}

TEST(Manifest, ADemoIsNobodysDefault) {
  expect_refused(with(demo_manifest(), "/defaultEligible", true), {"defaultEligible", "demo"});
  expect_refused(with(demo_manifest(), "/files/text/0/ctx", nullptr), {"files.text", "ctx"});
  expect_refused(with(demo_manifest(), "/files/text", json::array()), {"files.text"});
  expect_refused(with(demo_manifest(), "/files/vad", json::array({test::manifest_file("vad/a.bin")})),
                 {"lineage.vad"});
}

TEST(Manifest, IgnoresWhatItDoesNotKnow) {
  json manifest = demo_manifest();
  manifest["later"] = {{"any", json::array({1, nullptr, "x"})}};
  manifest["kernels"]["later"] = 5;
  manifest["kernels"]["verifiedBackends"]["npu"] = "?";
  manifest["files"]["later"] = json::array({test::manifest_file("later/a.bin")});
  manifest["evals"]["later"] = {{"figure", 0.5}, {"words", "x"}, {"passed", true}};
  manifest["kernels"]["required"] = {"qjl"};
  const auto parsed = parse_manifest("m.json", manifest.dump());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->files_of("later").size(), 1u);
  EXPECT_EQ(parsed->find_eval("later")->figures.size(), 1u);
}

}  // namespace
}  // namespace parlance
