#include "cli/echo_free_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "echo/frame.h"

namespace parlance {
namespace {

constexpr size_t kSecond = kEchoRateHz, kDelay = kSecond / 20;

std::vector<float> sound(size_t n) {
  std::mt19937 random(5);
  std::normal_distribution<float> noise(0, 0.05f);
  std::vector<float> samples(n);
  for (float& x : samples) x = noise(random);
  return samples;
}

// Two devices of one clock: what is played is heard some time later, at half its level. Each hands its sound
// over in pieces of its own.
struct Devices {
  std::vector<float> played = sound(6 * kSecond);
  size_t now = 0, n_taken = 0, played_piece = 1;

  float heard(size_t at) const { return at < kDelay ? 0 : 0.5f * played[at - kDelay]; }
  size_t take(std::span<float> out) {
    const size_t ready = now / played_piece * played_piece;
    const size_t n = std::min(out.size(), ready - n_taken);
    std::copy_n(played.begin() + static_cast<std::ptrdiff_t>(n_taken), n, out.begin());
    n_taken += n;
    return n;
  }
};

class TestMicrophone final : public SoundSource {
 public:
  TestMicrophone(Devices& devices, size_t piece) : devices_(devices), piece_(piece) {}

  Result<bool> read(std::vector<float>& out) override {
    for (size_t i = 0; i < piece_ && devices_.now < devices_.played.size(); ++i)
      out.push_back(devices_.heard(devices_.now++));
    return devices_.now < devices_.played.size();
  }
  bool is_patient() const override { return false; }

 private:
  Devices& devices_;
  size_t piece_;
};

double power(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v * v);
  return sum;
}

TEST(EchoFreeSource, TakesWhatIsPlayedOutInPiecesOfEverySize) {
  for (const size_t heard_piece : {1, 37, 160, 441, 4096}) {
    for (const size_t played_piece : {1, 160, 441, 800}) {
      Devices devices;
      devices.played_piece = played_piece;
      auto source = without_echo(
          std::make_unique<TestMicrophone>(devices, heard_piece),
          {.sample_rate_hz = kEchoRateHz, .take = [&](std::span<float> out) { return devices.take(out); }});
      ASSERT_TRUE(source);
      EXPECT_FALSE((*source)->is_patient());
      std::vector<float> left;
      for (bool goes_on = true; goes_on;) {
        const auto read = (*source)->read(left);
        ASSERT_TRUE(read);
        goes_on = *read;
      }
      ASSERT_EQ(left.size(), devices.played.size());
      std::vector<float> heard;
      for (size_t i = 0; i < left.size(); ++i) heard.push_back(devices.heard(i));
      const double share =
          power(std::span(left).subspan(4 * kSecond)) / power(std::span(heard).subspan(4 * kSecond));
      EXPECT_LT(10 * std::log10(share), -15) << "heard in " << heard_piece << ", played in " << played_piece;
    }
  }
}

TEST(EchoFreeSource, ALoudspeakerThatPlaysFasterThanTimePassesIsNotWaitedFor) {
  Devices devices;
  devices.played.resize(kSecond / 4);
  size_t n_taken = 0;
  auto source = without_echo(std::make_unique<TestMicrophone>(devices, 160),
                             {.sample_rate_hz = kEchoRateHz, .take = [&](std::span<float> out) {
                                std::ranges::fill(out, 0.01f);
                                n_taken += out.size();
                                return out.size();
                              }});
  ASSERT_TRUE(source);
  std::vector<float> left;
  int n_reads = 0;
  for (bool goes_on = true; goes_on; ++n_reads) {
    const auto read = (*source)->read(left);
    ASSERT_TRUE(read);
    goes_on = *read;
  }
  EXPECT_EQ(left.size(), devices.played.size());
  EXPECT_LE(n_taken, static_cast<size_t>(n_reads) * 2 * kSecond);
}

TEST(EchoFreeSource, ARateThatCannotBeIsAnError) {
  Devices devices;
  EXPECT_FALSE(without_echo(std::make_unique<TestMicrophone>(devices, 160),
                            {.sample_rate_hz = 0, .take = [](std::span<float>) { return size_t{0}; }}));
}

}  // namespace
}  // namespace parlance
