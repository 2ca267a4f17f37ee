#include "assistant/device_shelf.h"

#include "assistant/text_region.h"
#include "base/parameter.h"
#include "engine/session.h"
#include "support/fixtures.h"

namespace parlance {
namespace {

TEST(DeviceShelf, HasOneDeviceOfEachNameAndRank) {
  DeviceShelf shelf(1);
  const auto mind = shelf.get("cpu", CpuRank::mind), ears = shelf.get("cpu", CpuRank::ears);
  ASSERT_TRUE(mind && ears);
  EXPECT_NE(*mind, *ears);
  EXPECT_EQ(*shelf.get("cpu", CpuRank::mind), *mind);
  EXPECT_EQ((*ears)->n_threads(), 1);
  EXPECT_EQ(shelf.get("abacus", CpuRank::mind).error().code, ErrorCode::not_found);
}

// Logits of a text that is read at once, or with an end of a step behind its first n tokens.
std::vector<float> logits_of(const TextRegion& region, const std::vector<Token>& text, size_t n) {
  auto session = Session::create(region.model(), {.n_ctx = 512, .n_batch = 128});
  EXPECT_TRUE(session) << session.error().message;
  if (!session) return {};
  if (n > 0) {
    EXPECT_TRUE((*session)->append(std::span(text).first(n)));
  }
  const auto logits = (*session)->append(std::span(text).subspan(n));
  EXPECT_TRUE(logits);
  return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
}

TEST(DeviceShelf, ADeterministicModelSaysTheSameWhereverATextIsCut) {
  const auto folder = test::source_root() / "models" / "demo";
  if (!std::filesystem::exists(folder / "text")) GTEST_SKIP() << "no demo bundle";
  Choice choice;
  choice.files.folder = folder.string();
  choice.devices.is_deterministic = true;
  DeviceShelf devices(2, choice.devices.is_deterministic);
  const auto region = TextRegion::load(choice, devices, {});
  ASSERT_TRUE(region) << region.error().message;
  std::vector<Token> text;
  for (int i = 0; i < 100; ++i) text.push_back((17 * i + 3) % 500);
  const auto whole = logits_of(**region, text, 0);
  for (const size_t n : {1, 2, 31, 64, 83, 99})
    EXPECT_EQ(logits_of(**region, text, n), whole) << "cut at " << n;
}

}  // namespace
}  // namespace parlance
