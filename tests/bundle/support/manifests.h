// Manifests that are good, for tests that break them.
#pragma once

#include <string>

#include "support/json_file.h"


namespace parlance::test {

// Any checksum; files are only looked at where a test writes them.
inline std::string some_sha256() {
  return std::string(64, 'a');
}

inline nlohmann::json manifest_file(const std::string& path) {
  return {{"path", path}, {"sha256", some_sha256()}};
}

// A bundle of a product, with everything that it must and may have.
inline nlohmann::json product_manifest() {
  using nlohmann::json;
  const json backend = {{"status", "pass"}, {"atCommit", "0a65d08"}, {"report", "evals/cpu.json"}};
  const json origin = {{"base", "Qwen/Qwen3.5-9B"}, {"license", "Apache-2.0"}};
  json text = manifest_file("text/eliza-1-9b-128k.gguf");
  text["ctx"] = 131072;
  return {
      {"$schema", "https://elizaos.ai/schemas/eliza-1.manifest.v1.json"},
      {"id", "eliza-1-9b"},
      {"tier", "9b"},
      {"version", "1.0.0"},
      {"publishedAt", "2026-05-11T08:00:00.000Z"},
      {"lineage",
       {{"text", origin},
        {"voice", origin},
        {"asr", origin},
        {"vad", origin},
        {"drafter", origin},
        {"vision", origin},
        {"embedding", origin}}},
      {"files",
       {{"text", json::array({text})},
        {"voice", {manifest_file("tts/omnivoice-base.gguf"), manifest_file("tts/omnivoice-tokenizer.gguf")}},
        {"asr", {manifest_file("asr/eliza-1-asr.gguf"), manifest_file("asr/eliza-1-asr-mmproj.gguf")}},
        {"vision", json::array({manifest_file("vision/mmproj-9b.gguf")})},
        {"dflash", json::array({manifest_file("dflash/drafter-9b.gguf")})},
        {"cache", json::array({manifest_file("cache/voice-preset-default.bin")})},
        {"embedding", json::array({manifest_file("embedding/embed.gguf")})},
        {"vad", json::array({manifest_file("vad/silero-vad-v5.1.2.ggml.bin")})},
        {"turn", json::array()}}},
      {"kernels",
       {{"required", {"turboquant_q4", "qjl", "polarquant", "turbo3_tcq"}},
        {"optional", {"turboquant_q3"}},
        {"verifiedBackends",
         {{"metal", backend}, {"vulkan", backend}, {"cuda", backend}, {"rocm", backend}, {"cpu", backend}}}}},
      {"evals",
       {{"textEval", {{"score", 0.71}, {"passed", true}}},
        {"voiceRtf", {{"rtf", 0.42}, {"passed", true}}},
        {"asrWer", {{"wer", 0.05}, {"passed", true}}},
        {"vadLatencyMs",
         {{"median", 16},
          {"boundaryMs", 24},
          {"endpointMs", 80},
          {"falseBargeInRate", 0.01},
          {"passed", true}}},
        {"dflash", {{"acceptanceRate", nullptr}, {"speedup", nullptr}, {"passed", true}}},
        {"e2eLoopOk", true},
        {"thirtyTurnOk", true}}},
      {"ramBudgetMb", {{"min", 1}, {"recommended", 9500}}},
      {"voice",
       {{"version", "1"},
        {"frozen", true},
        {"cache",
         {{"speakerPreset", "cache/voice-preset-default.bin"},
          {"phraseCacheSeed", "cache/voice-preset-default.bin"}}},
        {"capabilities", {"tts"}}}},
      {"provenance",
       {{"releaseState", "base-v1"},
        {"finetuned", false},
        {"sourceModels", {{"text", {{"repo", "Qwen/Qwen3.5-9B"}}}}}}},
      {"releaseChannel", "recommended"},
      {"defaultEligible", true},
      {"textQuant", {{"whatever", json::array({1, "two"})}}}};
}

// The least that a bundle of the tier demo says.
inline nlohmann::json demo_manifest() {
  using nlohmann::json;
  json text = manifest_file("text/model.gguf");
  text["ctx"] = 512;
  return {{"id", "eliza-1-demo"},
          {"tier", "demo"},
          {"version", "0.1.0"},
          {"publishedAt", "2026-11-22T08:00:00Z"},
          {"lineage", {{"text", {{"base", "random weights"}, {"license", "MIT"}}}}},
          {"files", {{"text", json::array({text})}}},
          {"kernels",
           {{"required", json::array()}, {"optional", json::array()}, {"verifiedBackends", json::object()}}},
          {"evals", json::object()},
          {"ramBudgetMb", {{"min", 1}, {"recommended", 2}}},
          {"defaultEligible", false}};
}

}  // namespace parlance::test
