#include "audio/fft.h"

#include <cmath>
#include <numbers>
#include <random>

#include "gtest/gtest.h"

namespace parlance {
namespace {

// The definition: squared magnitudes of the sums over all samples, in double.
std::vector<double> power_of(std::span<const float> frame) {
  const size_t n = frame.size();
  std::vector<double> power;
  for (size_t k = 0; k <= n / 2; ++k) {
    double re = 0, im = 0;
    for (size_t i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i * k % n) / static_cast<double>(n);
      re += static_cast<double>(frame[i]) * std::cos(angle);
      im -= static_cast<double>(frame[i]) * std::sin(angle);
    }
    power.push_back(re * re + im * im);
  }
  return power;
}

std::vector<float> noise(size_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> samples(n);
  for (float& sample : samples) sample = distribution(random);
  return samples;
}

std::vector<float> run(const RealFft& fft, std::span<const float> frames) {
  std::vector<float> power(frames.size() / static_cast<size_t>(fft.n()) * static_cast<size_t>(fft.n_bins()));
  fft.power(frames, power);
  return power;
}

TEST(RealFft, AgreesWithTheDefinition) {
  for (const size_t n :
       {2, 4, 6, 8, 10, 12, 16, 18, 20, 30, 50, 60, 64, 150, 250, 256, 360, 400, 512, 1024}) {
    const RealFft fft(static_cast<int64_t>(n));
    const std::vector<float> frame = noise(n);
    const std::vector<double> want = power_of(frame);
    const std::vector<float> got = run(fft, frame);
    ASSERT_EQ(got.size(), want.size());
    double energy = 0;
    for (const float sample : frame) energy += static_cast<double>(sample * sample);
    // The error of a magnitude is in proportion to the frame's, not to itself.
    const double error = 2e-7 * std::sqrt(energy);
    for (size_t k = 0; k < want.size(); ++k) {
      EXPECT_NEAR(std::sqrt(static_cast<double>(got[k])), std::sqrt(want[k]), 4 * error)
          << "bin " << k << " of " << n;
    }
  }
}

TEST(RealFft, GoesThereAndBack) {
  for (const size_t n : {2, 4, 6, 8, 10, 12, 16, 18, 20, 30, 50, 150, 256, 320, 400, 1024}) {
    const RealFft fft(static_cast<int64_t>(n));
    const auto n_bins = static_cast<size_t>(fft.n_bins());
    for (const size_t n_frames : {0, 1, 3, 4, 5, 9}) {
      const std::vector<float> frames = noise(n_frames * n);
      std::vector<float> re(n_frames * n_bins), im(n_frames * n_bins), back(n_frames * n);
      fft.forward(frames, re, im);
      const std::vector<float> power = run(fft, frames);
      for (size_t i = 0; i < power.size(); ++i) ASSERT_EQ(power[i], re[i] * re[i] + im[i] * im[i]);
      fft.inverse(re, im, back);
      for (size_t i = 0; i < frames.size(); ++i) ASSERT_NEAR(back[i], frames[i], 2e-6f) << n << ", " << i;
    }
  }
}

// Which shows that bins have the sign and the order of the definition: the power alone would not.
TEST(RealFft, ShiftsASoundByTurningItsBins) {
  constexpr size_t kN = 320;
  const RealFft fft(kN);
  const std::vector<float> frame = noise(kN);
  std::vector<float> re(kN / 2 + 1), im(re), back(kN);
  for (const size_t later : {1, 7, 160, 319}) {
    fft.forward(frame, re, im);
    for (size_t k = 0; k < re.size(); ++k) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(k * later % kN) / kN;
      const auto cos = static_cast<float>(std::cos(angle)), sin = static_cast<float>(std::sin(angle));
      const float x = re[k] * cos - im[k] * sin;
      im[k] = re[k] * sin + im[k] * cos;
      re[k] = x;
    }
    fft.inverse(re, im, back);
    for (size_t i = 0; i < kN; ++i)
      ASSERT_NEAR(back[(i + later) % kN], frame[i], 2e-6f) << later << ", " << i;
  }
}

TEST(RealFft, AFrameIsTheSameAmongOthers) {
  for (const int64_t n : {256, 400}) {
    const RealFft fft(n);
    const auto frame_size = static_cast<size_t>(n), n_bins = static_cast<size_t>(fft.n_bins());
    const std::vector<float> frames = noise(9 * frame_size);
    for (const size_t n_frames : {0, 1, 3, 4, 5, 8, 9}) {
      const std::vector<float> together = run(fft, std::span(frames).first(n_frames * frame_size));
      for (size_t i = 0; i < n_frames; ++i) {
        const std::vector<float> alone = run(fft, std::span(frames).subspan(i * frame_size, frame_size));
        for (size_t k = 0; k < n_bins; ++k) ASSERT_EQ(alone[k], together[i * n_bins + k]);
      }
    }
  }
}

TEST(RealFft, ASineIsOneBin) {
  const RealFft fft(400);
  std::vector<float> frame(400);
  for (size_t i = 0; i < 400; ++i)
    frame[i] = static_cast<float>(std::sin(2 * std::numbers::pi * static_cast<double>(i) * 10 / 400));
  const std::vector<float> power = run(fft, frame);
  for (size_t k = 0; k < power.size(); ++k) EXPECT_NEAR(power[k], k == 10 ? 40000 : 0, 0.05) << k;
}

}  // namespace
}  // namespace parlance
