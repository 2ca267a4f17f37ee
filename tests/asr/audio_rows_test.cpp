// Rows of a clip that grows: the exact ones do not tell which previews there were before.
#include "asr/audio_rows.h"

#include <optional>

#include "asr/support/fixture_clips.h"
#include "support/json_file.h"
#include "support/tested_device.h"

namespace parlance::test {
namespace {

class AudioRowsFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("asr/manifest.json");
    const nlohmann::json manifest = asr_manifest();
    device_ = std::move(*make_tested_device({.n_threads = 2}));
    const auto files = find_asr(asr_bundle(asr_bundles().front()));
    ASSERT_TRUE(files) << files.error().message;
    auto file = GgufFile::open(files->encoder);
    ASSERT_TRUE(file) << file.error().message;
    file_ = *std::move(file);
    auto encoder = AudioEncoder::load(*file_, *device_, WeightPrecision::as_stored);
    ASSERT_TRUE(encoder) << encoder.error().message;
    encoder_ = *std::move(encoder);
    auto speech = SpeechEncoder::create(*encoder_, *device_, kMode);
    ASSERT_TRUE(speech) << speech.error().message;
    speech_ = *std::move(speech);
    samples_ = fixture_speech(manifest, 11);
  }

  // The exact rows of all samples, after previews at some seconds, or listening instead of each third.
  std::vector<float> rows_after(const std::vector<double>& previews, bool listens = false) {
    AudioRows rows(*speech_, kMode);
    size_t at = 0;
    const auto push_until = [&](size_t end) {
      if (end <= at) return;
      rows.push(std::span(samples_).subspan(at, end - at));
      at = end;
    };
    int n = 0;
    for (const double seconds : previews) {
      push_until(static_cast<size_t>(seconds * 16000));
      EXPECT_TRUE(listens && ++n % 3 > 0 ? rows.listen() : rows.refresh(RowsKind::preview));
    }
    push_until(samples_.size());
    EXPECT_TRUE(rows.refresh(RowsKind::exact));
    std::vector<float> all;
    for (const AudioWindow& window : rows.windows())
      all.insert(all.end(), window.rows.begin(), window.rows.end());
    return all;
  }

  static constexpr const AsrMode& kMode = kReferenceAsr;
  std::unique_ptr<Device> device_;
  std::optional<GgufFile> file_;
  std::unique_ptr<AudioEncoder> encoder_;
  std::unique_ptr<SpeechEncoder> speech_;
  std::vector<float> samples_;
};

// The loudest moment comes so late that the first window is closed and may be encoded before it or after,
// from chunks of before or after.
TEST_F(AudioRowsFixture, PreviewsLeaveNothingBehind) {
  if (IsSkipped()) return;
  for (size_t i = 0; i < 9 * 16000; ++i) samples_[i] *= 1e-3f;
  std::fill(samples_.begin() + 20000, samples_.begin() + 40000, 0.0f);
  const std::vector<float> want = rows_after({});
  ASSERT_FALSE(want.empty());
  for (const double first : {2, 7, 8, 9}) {
    for (double second = first + 1; second <= 11; ++second)
      EXPECT_TRUE(rows_after({first, second}) == want)
          << "previews at " << first << " and " << second << " s";
  }
}

// Previews and listening leave the first tokens of chunks that are not complete, whose frames a louder moment
// may change.
TEST_F(AudioRowsFixture, PreviewsWithinChunksLeaveNothingBehind) {
  if (IsSkipped()) return;
  samples_.resize(52'345);  // 3.27 s
  for (const bool gets_louder : {false, true}) {
    for (size_t i = 0; gets_louder && i < samples_.size(); ++i)
      samples_[i] *= i % 9000 < 3000 ? 0.0f : 1e-4f * static_cast<float>(i / 5000);
    const std::vector<float> want = rows_after({});
    for (const double every : {0.03, 0.1, 0.25, 0.99}) {
      std::vector<double> previews;
      for (double at = every; at < 3.26; at += every) previews.push_back(at);
      for (const bool listens : {false, true}) {
        EXPECT_TRUE(rows_after(previews, listens) == want)
            << (listens ? "listening every " : "previews every ") << every << " s";
      }
    }
  }
}

}  // namespace
}  // namespace parlance::test
