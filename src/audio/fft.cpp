// The transform of n real samples is computed as one of n / 2 complex ones, whose real parts are the even
// samples and whose imaginary parts the odd ones. Four frames lie side by side in the lanes of a vector, so
// every pass is plain arithmetic on vectors, without a shuffle, and the baseline instructions of any
// processor do.
#include "audio/fft.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <utility>

namespace parlance {

namespace {

constexpr int64_t kLanes = 4;
constexpr int64_t kMaxPoints = 1024;  // what lies on the stack follows from it: 32 KiB
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));

struct Complex {
  Lanes re, im;
};

Complex operator+(const Complex& a, const Complex& b) {
  return {a.re + b.re, a.im + b.im};
}
Complex operator-(const Complex& a, const Complex& b) {
  return {a.re - b.re, a.im - b.im};
}
Complex operator*(float scale, const Complex& a) {
  return {scale * a.re, scale * a.im};
}
// -i a
Complex turned(const Complex& a) {
  return {a.im, -a.re};
}

// Transforms of `radix` points in place: a[k] = sum over j of a[j] e^(-2 pi i j k / radix).
template <int radix>
void transform(Complex* a);

template <>
void transform<2>(Complex* a) {
  const Complex sum = a[0] + a[1];
  a[1] = a[0] - a[1];
  a[0] = sum;
}

template <>
void transform<3>(Complex* a) {
  constexpr auto kSin = static_cast<float>(std::numbers::sqrt3 / 2);
  const Complex sum = a[1] + a[2], difference = kSin * turned(a[1] - a[2]);
  const Complex middle = a[0] - 0.5f * sum;
  a[0] = a[0] + sum;
  a[1] = middle + difference;
  a[2] = middle - difference;
}

template <>
void transform<4>(Complex* a) {
  const Complex even = a[0] + a[2], even_difference = a[0] - a[2];
  const Complex odd = a[1] + a[3], odd_difference = turned(a[1] - a[3]);
  a[0] = even + odd;
  a[1] = even_difference + odd_difference;
  a[2] = even - odd;
  a[3] = even_difference - odd_difference;
}

template <>
void transform<5>(Complex* a) {
  constexpr float kCos1 = 0.30901699437494742f, kSin1 = 0.95105651629515357f;   // of 2 pi / 5
  constexpr float kCos2 = -0.80901699437494742f, kSin2 = 0.58778525229247313f;  // of 4 pi / 5
  const Complex sum1 = a[1] + a[4], sum2 = a[2] + a[3];
  const Complex difference1 = turned(a[1] - a[4]), difference2 = turned(a[2] - a[3]);
  const Complex even1 = a[0] + kCos1 * sum1 + kCos2 * sum2, even2 = a[0] + kCos2 * sum1 + kCos1 * sum2;
  const Complex odd1 = kSin1 * difference1 + kSin2 * difference2;
  const Complex odd2 = kSin2 * difference1 - kSin1 * difference2;
  a[0] = a[0] + sum1 + sum2;
  a[1] = even1 + odd1;
  a[2] = even2 + odd2;
  a[3] = even2 - odd2;
  a[4] = even1 - odd1;
}

// One pass of a Stockham transform, which needs no reordering at the end: x and y [stride, length].
template <int radix, class Rotation>
void run_pass(int64_t length, int64_t stride, const Rotation* rotations, const Complex* x, Complex* y) {
  const int64_t part = length / radix;
  for (int64_t p = 0; p < part; ++p) {
    const Rotation* const by = rotations + p * (radix - 1);
    for (int64_t q = 0; q < stride; ++q) {
      Complex a[radix];
      for (int j = 0; j < radix; ++j) a[j] = x[q + stride * (p + j * part)];
      transform<radix>(a);
      Complex* const out = y + q + stride * radix * p;
      out[0] = a[0];
      for (int k = 1; k < radix; ++k) {
        const auto [cos, sin] = by[k - 1];
        out[k * stride] = {a[k].re * cos + a[k].im * sin, a[k].im * cos - a[k].re * sin};
      }
    }
  }
}

// Runs all passes; x and y [n / 2] are the data and as much room. Yields where the result is.
template <class Passes>
Complex* run_passes(const Passes& passes, Complex* x, Complex* y) {
  for (const auto& pass : passes) {
    const auto* const rotations = pass.rotations.data();
    switch (pass.radix) {
      case 2:
        run_pass<2>(pass.length, pass.stride, rotations, x, y);
        break;
      case 3:
        run_pass<3>(pass.length, pass.stride, rotations, x, y);
        break;
      case 4:
        run_pass<4>(pass.length, pass.stride, rotations, x, y);
        break;
      default:
        run_pass<5>(pass.length, pass.stride, rotations, x, y);
    }
    std::swap(x, y);
  }
  return x;
}

}  // namespace

RealFft::RealFft(int64_t n) : n_(n) {
  assert(n >= 2 && n <= kMaxPoints && n % 2 == 0);
  const auto rotation = [](int64_t step, int64_t circle) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(step) / static_cast<double>(circle);
    return Rotation{static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  };
  int64_t stride = 1;
  for (int64_t length = n / 2; length > 1;) {
    const int64_t radix = length % 4 == 0 ? 4 : length % 2 == 0 ? 2 : length % 3 == 0 ? 3 : 5;
    assert(length % radix == 0);
    Pass pass{radix, length, stride, {}};
    for (int64_t p = 0; p < length / radix; ++p)
      for (int64_t k = 1; k < radix; ++k) pass.rotations.push_back(rotation(p * k, length));
    passes_.push_back(std::move(pass));
    stride *= radix;
    length /= radix;
  }
  for (int64_t k = 0; k <= n / 4; ++k) split_.push_back(rotation(k, n));
}

template <class Store>
void RealFft::transform_all(std::span<const float> frames, const Store& store) const {
  const int64_t n_frames = static_cast<int64_t>(frames.size()) / n_, half = n_ / 2;
  assert(static_cast<int64_t>(frames.size()) == n_frames * n_);
  Complex work[kMaxPoints];
  for (int64_t first = 0; first < n_frames; first += kLanes) {
    const int64_t n_used = std::min(kLanes, n_frames - first);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      // Lanes without a frame repeat the last one.
      const float* const frame = frames.data() + std::min(first + lane, n_frames - 1) * n_;
      for (int64_t i = 0; i < half; ++i) {
        work[i].re[lane] = frame[2 * i];
        work[i].im[lane] = frame[2 * i + 1];
      }
    }
    const Complex* const x = run_passes(passes_, work, work + half);
    store(first, n_used, 0, Complex{x[0].re + x[0].im, Lanes{}});
    store(first, n_used, half, Complex{x[0].re - x[0].im, Lanes{}});
    // Bin k is the transform of the even samples plus the rotated one of the odd samples; bin n/2 - k is the
    // conjugate of their difference.
    for (int64_t k = 1; k <= half / 2; ++k) {
      const Complex a = x[k], b = x[half - k];
      const Complex even{0.5f * (a.re + b.re), 0.5f * (a.im - b.im)};
      const Complex odd{0.5f * (a.im + b.im), 0.5f * (b.re - a.re)};
      const auto [cos, sin] = split_[static_cast<size_t>(k)];
      const Complex rotated{odd.re * cos + odd.im * sin, odd.im * cos - odd.re * sin};
      const Complex low = even + rotated, high = even - rotated;
      store(first, n_used, k, low);
      store(first, n_used, half - k, Complex{high.re, -high.im});
    }
  }
}

void RealFft::power(std::span<const float> frames, std::span<float> power) const {
  assert(static_cast<int64_t>(power.size()) * n_ == static_cast<int64_t>(frames.size()) * n_bins());
  transform_all(frames, [&](int64_t first, int64_t n_used, int64_t bin, const Complex& value) {
    const Lanes squared = value.re * value.re + value.im * value.im;
    for (int64_t lane = 0; lane < n_used; ++lane)
      power[static_cast<size_t>((first + lane) * n_bins() + bin)] = squared[lane];
  });
}

void RealFft::forward(std::span<const float> frames, std::span<float> re, std::span<float> im) const {
  assert(static_cast<int64_t>(re.size()) * n_ == static_cast<int64_t>(frames.size()) * n_bins());
  assert(im.size() == re.size());
  transform_all(frames, [&](int64_t first, int64_t n_used, int64_t bin, const Complex& value) {
    for (int64_t lane = 0; lane < n_used; ++lane) {
      re[static_cast<size_t>((first + lane) * n_bins() + bin)] = value.re[lane];
      im[static_cast<size_t>((first + lane) * n_bins() + bin)] = value.im[lane];
    }
  });
}

void RealFft::inverse(std::span<const float> re, std::span<const float> im, std::span<float> frames) const {
  const int64_t n_frames = static_cast<int64_t>(frames.size()) / n_, half = n_ / 2;
  assert(static_cast<int64_t>(frames.size()) == n_frames * n_);
  assert(static_cast<int64_t>(re.size()) == n_frames * n_bins() && im.size() == re.size());
  const float scale = 1 / static_cast<float>(half);
  Complex work[kMaxPoints];
  for (int64_t first = 0; first < n_frames; first += kLanes) {
    const int64_t n_used = std::min(kLanes, n_frames - first);
    const auto load = [&](int64_t bin) {
      Complex value;
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const auto at = static_cast<size_t>(std::min(first + lane, n_frames - 1) * n_bins() + bin);
        value.re[lane] = re[at];
        value.im[lane] = im[at];
      }
      return value;
    };
    // What transform_all does last, undone. The inverse transform is the forward one of what has real and
    // imaginary parts exchanged, and so is its result.
    const Lanes sum = load(0).re, difference = load(half).re;
    work[0] = {0.5f * (sum - difference), 0.5f * (sum + difference)};
    for (int64_t k = 1; k <= half / 2; ++k) {
      const Complex low = load(k), high = load(half - k);
      const Complex even{0.5f * (low.re + high.re), 0.5f * (low.im - high.im)};
      const Complex rotated{0.5f * (low.re - high.re), 0.5f * (low.im + high.im)};
      const auto [cos, sin] = split_[static_cast<size_t>(k)];
      const Complex odd{rotated.re * cos - rotated.im * sin, rotated.im * cos + rotated.re * sin};
      work[k] = {even.im + odd.re, even.re - odd.im};
      work[half - k] = {odd.re - even.im, even.re + odd.im};
    }
    const Complex* const x = run_passes(passes_, work, work + half);
    for (int64_t lane = 0; lane < n_used; ++lane) {
      float* const frame = frames.data() + (first + lane) * n_;
      for (int64_t i = 0; i < half; ++i) {
        frame[2 * i] = scale * x[i].im[lane];
        frame[2 * i + 1] = scale * x[i].re[lane];
      }
    }
  }
}

}  // namespace parlance
