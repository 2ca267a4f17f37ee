// Whole recorded models on a Metal device: what the engine asks of a device comes together, from weights that
// stay where they are mapped to logits that are read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "shaders/support/imitated_metal.h"
#include "support/json_file.h"
#include "support/text_model.h"

namespace parlance::test {
namespace {

constexpr size_t kSteps = 3;  // behind the prompt

struct Recorded {
  std::filesystem::path model;
  std::vector<Token> prompt, greedy;
  std::vector<float> logits;  // behind the prompt
  double rms;                 // of the reference's error, with this file
};

std::vector<Recorded> recorded_models() {
  std::vector<Recorded> all;
  for (const auto& path : fixture_files("text/logits", ".json")) {
    const auto fixture = read_json(path);
    const std::string name = fixture["model"];
    if (name != "qwen3-q4_0.gguf" && name != "llama3-q8_0.gguf") continue;
    const auto& c = fixture["cases"].front();
    all.push_back({fixtures_root() / "text/models" / name, c["ids"], c["greedy"], c["last_logits"],
                   c["reference"]["file_kvf32"]["rms"]});
  }
  return all;
}

double rms_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

// Behind the prompt, and behind each token that is fed.
std::vector<std::vector<float>> logits_of(const Recorded& recorded, std::unique_ptr<Device> device,
                                          KvFormat format) {
  const auto loaded = load_text_model(recorded.model, std::move(device));
  if (!loaded.model) return {};
  const auto session = make_session(
      *loaded.model,
      {.n_ctx = 256, .n_batch = 64, .cache = {.k = {.format = format}, .v = {.format = format}}});
  if (!session) return {};
  std::vector<std::vector<float>> all;
  auto logits = session->set_prompt(recorded.prompt);
  for (size_t i = 0;; ++i) {
    EXPECT_TRUE(logits) << logits.error().message;
    if (!logits) return {};
    all.emplace_back(logits->begin(), logits->end());
    if (i == kSteps) return all;
    logits = session->append({&recorded.greedy[i], 1});
  }
}

TEST(MetalModels, AnswerAsTheCpuDoes) {
  PARLANCE_REQUIRE_FIXTURES("text/logits");
  const std::vector<Recorded> models = recorded_models();
  if (models.empty()) GTEST_SKIP() << "skipped: none of the recorded models is among the fixtures";
  for (const Recorded& recorded : models) {
    for (const KvFormat format : {KvFormat::f16, KvFormat::tbq4_0}) {
      SCOPED_TRACE(recorded.model.stem().string() + ", " + std::string(name_of(format)));
      const auto got = logits_of(recorded, metal_device_on({}), format);
      const auto want = logits_of(recorded, std::move(*make_cpu_device({.n_threads = 2})), format);
      ASSERT_EQ(got.size(), kSteps + 1);
      ASSERT_EQ(want.size(), kSteps + 1);
      // A key at the edge of two codes may get either; the format itself is off by six to eight times rms.
      const double most = (format == KvFormat::f16 ? 1.5 : 3) * recorded.rms;
      for (size_t i = 0; i <= kSteps; ++i) EXPECT_LE(rms_distance(got[i], want[i]), most) << i;
      if (format == KvFormat::f16) {
        EXPECT_LE(rms_distance(got[0], recorded.logits), most);
      }
    }
  }
}

}  // namespace
}  // namespace parlance::test
