// Sounds for tests of echo: what is played, and what a room makes of it.
#pragma once

#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "echo/frame.h"

namespace parlance {

inline constexpr size_t kSecond = kEchoRateHz;

// A buzz that comes and goes as syllables do, each at a pitch of its own.
inline std::vector<float> murmur(uint32_t seed, size_t n, float level, float least_pitch = 90) {
  constexpr size_t kSyllable = kSecond / 5;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> any(0, 1);
  std::vector<float> samples(n);
  float pitch = 0, phase = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i % kSyllable == 0) pitch = least_pitch * (1 + 1.3f * any(random));
    phase = std::fmod(phase + pitch / kSecond, 1.0f);
    const float swell = std::sin(static_cast<float>(i % kSyllable) / kSyllable * 3.14159f);
    samples[i] = level * swell * (8 * std::exp(-20 * phase) - 0.4f + 0.2f * (any(random) - 0.5f));
  }
  return samples;
}

inline std::vector<float> hiss(uint32_t seed, size_t n, float level) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(0, level);
  std::vector<float> samples(n);
  for (float& x : samples) x = noise(random);
  return samples;
}

// Noise that can be moved by parts of a sample: it has no tones that are near half the rate.
inline std::vector<float> soft_hiss(uint32_t seed, size_t n, float level) {
  std::vector<float> samples = hiss(seed, n + 4, level);
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t i = 0; i + 2 < samples.size(); ++i)
      samples[i] = (samples[i] + 2 * samples[i + 1] + samples[i + 2]) / 4;
  }
  samples.resize(n);
  return samples;
}

// What is heard of it: late, half as loud, and thrown back by many walls.
inline std::vector<float> echo_of(const std::vector<float>& played, size_t delay) {
  std::vector<float> heard = hiss(8, played.size(), 1e-4f);
  std::mt19937 random(7);
  std::normal_distribution<float> gain(0, 0.15f);
  for (int wall = 0; wall < 50; ++wall) {
    const size_t later = wall == 0 ? 0 : random() % (kSecond / 16);
    const float by = wall == 0 ? 0.5f : gain(random) * std::exp(-static_cast<float>(later) / (kSecond / 60));
    for (size_t i = 0; i + delay + later < played.size(); ++i) heard[i + delay + later] += by * played[i];
  }
  return heard;
}

// The sound at a clock that is so much faster, by cubic interpolation.
inline std::vector<float> at_another_clock(const std::vector<float>& sound, double faster) {
  std::vector<float> out(sound.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const double at = static_cast<double>(i) * (1 + faster);
    const auto k = static_cast<size_t>(at);
    if (k < 1 || k + 2 >= sound.size()) continue;
    const auto f = static_cast<float>(at - static_cast<double>(k));
    const float a = sound[k - 1], b = sound[k], c = sound[k + 1], d = sound[k + 2];
    out[i] = b + 0.5f * f * (c - a + f * (2 * a - 5 * b + 4 * c - d + f * (3 * (b - c) + d - a)));
  }
  return out;
}

inline double power(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
  return sum;
}

// 10 log10 of what is left of what was heard, between two moments.
inline double left_db(const std::vector<float>& left, const std::vector<float>& heard, double from_s,
                      double to_s) {
  const auto from = static_cast<size_t>(from_s * kSecond), to = static_cast<size_t>(to_s * kSecond);
  return 10 * std::log10(power(std::span(left).subspan(from, to - from)) /
                         power(std::span(heard).subspan(from, to - from)));
}

// Frame by frame through anything that has process(heard, played, left).
template <class Process>
std::vector<float> frame_by_frame(const std::vector<float>& heard, const std::vector<float>& played,
                                  Process&& process) {
  std::vector<float> left(heard.size());
  for (size_t i = 0; i + kEchoFrame <= heard.size(); i += kEchoFrame)
    process(std::span(heard).subspan(i, kEchoFrame), std::span(played).subspan(i, kEchoFrame),
            std::span(left).subspan(i, kEchoFrame));
  return left;
}

}  // namespace parlance
