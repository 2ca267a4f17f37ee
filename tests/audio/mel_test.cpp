#include "audio/mel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <utility>

#include "audio/audio_file.h"
#include "gtest/gtest.h"
#include "support/fixtures.h"
#include "support/json_file.h"
#include "support/npy.h"

namespace parlance {
namespace {

constexpr MelOptions kModes[] = {MelOptions{}, kElizaMel};

// A tone that swells and falls over quiet noise, so that some values are clamped and the largest comes late.
std::vector<float> signal(int64_t n) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> noise(-1e-3f, 1e-3f);
  std::vector<float> samples;
  for (int64_t i = 0; i < n; ++i) {
    const auto t = static_cast<double>(i) / kMelSampleRateHz;
    samples.push_back(noise(random) +
                      static_cast<float>(0.5 * std::sin(2 * t) * std::sin(2000 * t + 900 * t * t)));
  }
  return samples;
}

// The definition, in double: raw frames of a whole clip.
std::vector<float> raw_by_definition(std::vector<float> samples, const MelOptions& options) {
  if (!options.keeps_last_frame) samples.resize(std::max<size_t>(samples.size(), 8000));
  const auto n = static_cast<int64_t>(samples.size());
  const auto sample_at = [&](int64_t i) -> double {
    if (i < 0)
      i = -i;
    else if (i >= n)
      i = 2 * (n - 1) - i;
    return i < 0 || i >= n ? 0 : static_cast<double>(samples[static_cast<size_t>(i)]);
  };
  const auto hz_of_mel = [](double mel) {
    return mel < 15 ? mel * 200 / 3 : 1000 * std::exp((mel - 15) * std::log(6.4) / 27);
  };
  const double top = 15 + std::log(8.0) * 27 / std::log(6.4);
  std::vector<std::pair<double, double>> circle;  // cosine and sine of its 400th parts
  for (int i = 0; i < 400; ++i) {
    const double angle = 2 * std::numbers::pi * i / 400;
    circle.emplace_back(std::cos(angle), std::sin(angle));
  }
  std::vector<float> raw;
  for (int64_t t = 0; t < n / 160 + (options.keeps_last_frame ? 1 : 0); ++t) {
    std::vector<double> power;
    for (int64_t k = 0; k <= 200; ++k) {
      double re = 0, im = 0;
      for (int64_t i = 0; i < 400; ++i) {
        const double window = 0.5 * (1 - circle[static_cast<size_t>(i)].first);
        const auto [cos, sin] = circle[static_cast<size_t>(i * k % 400)];
        re += sample_at(160 * t - 200 + i) * window * cos;
        im += sample_at(160 * t - 200 + i) * window * sin;
      }
      power.push_back(re * re + im * im);
    }
    for (int band = 0; band < 128; ++band) {
      const double left = hz_of_mel(top * band / 129), centre = hz_of_mel(top * (band + 1) / 129),
                   right = hz_of_mel(top * (band + 2) / 129);
      double energy = 0;
      for (int k = 0; k <= 200; ++k) {
        const double rise = (40 * k - left) / (centre - left), fall = (right - 40 * k) / (right - centre);
        energy += std::max(0.0, std::min(rise, fall)) * 2 / (right - left) * power[static_cast<size_t>(k)];
      }
      raw.push_back(static_cast<float>(std::log10(std::max(energy, static_cast<double>(options.floor)))));
    }
  }
  return raw;
}

// Final frames and the tail together.
std::vector<float> all_frames(const MelFrontEnd& mel, const MelClip& clip) {
  const std::span<const float> final_frames = mel.frames(0, clip.first);
  std::vector<float> raw(final_frames.begin(), final_frames.end());
  raw.insert(raw.end(), clip.tail.begin(), clip.tail.end());
  return raw;
}

std::vector<float> normalised(std::vector<float> raw, float largest) {
  normalise_mel(raw, largest);
  return raw;
}

TEST(Mel, AgreesWithTheDefinition) {
  for (const MelOptions& options : kModes) {
    for (const int64_t n : {1, 2, 150, 199, 200, 201, 359, 360, 361, 777, 7999, 8000, 8001, 8040}) {
      const std::vector<float> samples = signal(n);
      MelFrontEnd mel(options);
      mel.push(samples);
      const MelClip clip = mel.finish();
      const std::vector<float> raw = all_frames(mel, clip), want = raw_by_definition(samples, options);
      ASSERT_EQ(clip.n_frames * kMelBands, static_cast<int64_t>(raw.size()));
      ASSERT_EQ(raw.size(), want.size()) << n;
      EXPECT_EQ(clip.largest, *std::max_element(raw.begin(), raw.end()));
      const float largest = *std::max_element(want.begin(), want.end());
      const std::vector<float> a = normalised(raw, clip.largest), b = normalised(want, largest);
      for (size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a[i], b[i], 1e-4)
            << n << " samples, frame " << i / kMelBands << " band " << i % kMelBands;
    }
  }
}

// Sound that is louder by a power of two has the same mantissas, and logarithms that are larger by as much.
TEST(Mel, LogarithmsOfAllExponents) {
  constexpr MelOptions kNoFloor{.floor = std::numeric_limits<float>::min(), .keeps_last_frame = true};
  const std::vector<float> samples = signal(2000);
  const auto frames_at = [&](int exponent) {
    std::vector<float> louder = samples;
    for (float& x : louder) x = std::ldexp(x, exponent);
    MelFrontEnd mel(kNoFloor);
    mel.push(louder);
    return all_frames(mel, mel.finish());
  };
  const std::vector<float> want = frames_at(0);
  for (int exponent = -40; exponent <= 55; ++exponent) {
    const std::vector<float> got = frames_at(exponent);
    for (size_t i = 0; i < want.size(); ++i) {
      const double larger = static_cast<double>(want[i]) + 2 * exponent * std::log10(2.0);
      ASSERT_NEAR(got[i], larger, 1e-5) << "2^" << exponent << ", value " << i;
    }
  }
}

// Energies beyond what floats hold are infinite, and not those of any sound.
TEST(Mel, WhatIsTooLoudForFloatsIsInfinite) {
  std::vector<float> samples(1600);
  samples[5 * kMelHop] = 1e30f;
  MelFrontEnd mel;
  mel.push(samples);
  for (const float x : mel.frame(5)) EXPECT_EQ(x, std::numeric_limits<float>::infinity());
}

TEST(Mel, AnySplitGivesTheSameFrames) {
  const std::vector<float> samples = signal(20000);
  MelFrontEnd whole;
  whole.push(samples);
  std::mt19937 random(3);
  for (const int64_t most : {1, 2, 160, 700, 5000}) {
    MelFrontEnd pieces;
    std::uniform_int_distribution<size_t> length(0, static_cast<size_t>(most));
    for (std::span<const float> rest(samples); !rest.empty();) {
      const size_t n = std::min(length(random), rest.size());
      pieces.push(rest.first(n));
      rest = rest.subspan(n);
      ASSERT_EQ(pieces.n_final(), pieces.n_samples() < 200 ? 0 : (pieces.n_samples() - 200) / 160 + 1);
    }
    EXPECT_EQ(all_frames(pieces, pieces.finish()), all_frames(whole, whole.finish()));
    EXPECT_EQ(pieces.largest(), whole.largest());
  }
}

// What was final stays as it was, and an end that was asked for on the way leaves no trace.
TEST(Mel, EveryMomentIsTheEndOfAClip) {
  const std::vector<float> samples = signal(9000);
  for (const MelOptions& options : kModes) {
    MelFrontEnd mel(options);
    size_t n = 0;
    for (const size_t step : {0, 1, 198, 1, 1, 159, 40, 3000, 4599, 1, 80, 80, 300}) {
      mel.push(std::span(samples).subspan(n, step));
      n += step;
      MelFrontEnd alone(options);
      alone.push(std::span(samples).first(n));
      const MelClip clip = mel.finish(), want = alone.finish();
      EXPECT_EQ(clip.n_frames, want.n_frames);
      EXPECT_EQ(clip.largest, want.largest);
      EXPECT_EQ(all_frames(mel, clip), all_frames(alone, want));
    }
  }
}

// Recorded arrays are [kMelBands, frames] with the frames fastest; those of the eliza-1 program go on with
// zeros.
TEST(Mel, AgreesWithRecordedFrames) {
  PARLANCE_REQUIRE_FIXTURES("asr/mel");
  const auto manifest = test::read_json(test::fixtures_root() / "asr/manifest.json");
  for (const auto& path : test::fixture_files("asr/mel", ".npy")) {
    const std::string name = path.filename().string(), wave = name.substr(0, name.find('.'));
    const bool is_eliza = name.find(".fork.") != std::string::npos;
    const auto clip = read_audio(
        test::fixtures_root() / "asr" / manifest["waves"][wave]["file"].get<std::string>(), kMelSampleRateHz);
    ASSERT_TRUE(clip) << clip.error().message;
    const test::NpyArray want = test::read_npy(path);
    ASSERT_EQ(want.shape.size(), 2u);
    ASSERT_EQ(want.shape[0], kMelBands);

    MelFrontEnd mel(is_eliza ? kElizaMel : MelOptions{});
    mel.push(clip->samples);
    const MelClip end = mel.finish();
    const std::vector<float> got = normalised(all_frames(mel, end), end.largest);
    const int64_t n_recorded = want.shape[1];
    if (is_eliza)
      ASSERT_GE(n_recorded, end.n_frames) << name;
    else
      ASSERT_EQ(n_recorded, end.n_frames) << name;
    double largest_error = 0;
    for (int64_t t = 0; t < end.n_frames; ++t) {
      for (int64_t band = 0; band < kMelBands; ++band) {
        const double error = static_cast<double>(got[static_cast<size_t>(t * kMelBands + band)]) -
                             want.values[static_cast<size_t>(band * n_recorded + t)];
        largest_error = std::max(largest_error, std::fabs(error));
      }
    }
    EXPECT_LE(largest_error, is_eliza ? 2e-4 : 1e-4) << name;
  }
}

TEST(Mel, NothingIsAnEmptyClip) {
  for (const MelOptions& options : kModes) {
    MelFrontEnd mel(options);
    mel.push({});
    EXPECT_EQ(mel.n_final(), 0);
    EXPECT_EQ(mel.finish().n_frames, 0);
    EXPECT_TRUE(mel.finish().tail.empty());
  }
}

TEST(Mel, ReleasedFramesAreGoneAndTheRestIsTheSame) {
  const std::vector<float> samples = signal(30000);
  MelFrontEnd kept, released;
  for (std::span<const float> rest(samples); !rest.empty(); rest = rest.subspan(1000)) {
    kept.push(rest.first(1000));
    released.push(rest.first(1000));
    released.release_before(std::max<int64_t>(released.n_final() - 3, 0));
    for (int64_t t = std::max<int64_t>(kept.n_final() - 3, 0); t < kept.n_final(); ++t)
      EXPECT_TRUE(std::ranges::equal(kept.frame(t), released.frame(t)));
  }
  EXPECT_EQ(released.largest(), kept.largest());
  EXPECT_EQ(released.finish().tail, kept.finish().tail);
}

TEST(Mel, NormalisationClampsToEightBelowTheLargest) {
  std::vector<float> values{-10, -6, -5, 1, 2};
  normalise_mel(values, 2);
  EXPECT_EQ(values, (std::vector<float>{-0.5f, -0.5f, -0.25f, 1.25f, 1.5f}));
}

}  // namespace
}  // namespace parlance
