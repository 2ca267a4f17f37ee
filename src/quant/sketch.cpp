#include "quant/sketch.h"

#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

namespace parlance {

namespace {

// splitmix64 (Steele, Lea and Flood, 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t state) : state_(state) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

// Pairs of normal numbers after Box and Muller, in double.
void fill_projection(SketchMatrix& matrix) {
  SplitMix64 random(42 ^ 0xc0ffee1234567890);
  const auto uniform = [&] { return static_cast<double>((random.next() >> 11) | 1) * 0x1p-53; };
  for (size_t i = 0; i < matrix.size(); i += 2) {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    matrix[i] = static_cast<float>(radius * std::cos(angle));
    matrix[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

// Unit columns of Pi, in double: [kSketchOutputs][kSketchInputs].
std::vector<double> directions() {
  const SketchMatrix& pi = sketch_projection();
  std::vector<double> columns(pi.size());
  for (int64_t j = 0; j < kSketchOutputs; ++j) {
    double squares = 0;
    double* column = columns.data() + j * kSketchInputs;
    for (int64_t i = 0; i < kSketchInputs; ++i) {
      column[i] = static_cast<double>(pi[static_cast<size_t>(i * kSketchOutputs + j)]);
      squares += column[i] * column[i];
    }
    for (int64_t i = 0; i < kSketchInputs; ++i) column[i] /= std::sqrt(squares);
  }
  return columns;
}

// In place, the lower triangle becomes L with L L^T = s [n][n]; s is positive definite.
void factorise(std::vector<double>& s, int64_t n) {
  const auto at = [&](int64_t i, int64_t j) -> double& { return s[static_cast<size_t>(i * n + j)]; };
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      double sum = at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
      at(i, j) = i == j ? std::sqrt(sum) : sum / at(j, j);
    }
  }
}

// x = (L L^T)^-1 x
void solve(const std::vector<double>& l, int64_t n, double* x) {
  const auto at = [&](int64_t i, int64_t j) { return l[static_cast<size_t>(i * n + j)]; };
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < i; ++k) x[i] -= at(i, k) * x[k];
    x[i] /= at(i, i);
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t k = i + 1; k < n; ++k) x[i] -= at(k, i) * x[k];
    x[i] /= at(i, i);
  }
}

// For a direction u and unit vectors a, b: mean of sign(a.u) sign(b.u) = 2/pi asin(a.b), and mean of
// u sign(a.u) = a times the mean of |a.u|, which is Gamma(n/2) / (sqrt(pi) Gamma((n+1)/2)).
void fill_least_squares(SketchMatrix& matrix) {
  constexpr int64_t n = kSketchOutputs;
  const std::vector<double> unit = directions();
  std::vector<double> s(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double product = 0;
      for (int64_t k = 0; k < kSketchInputs; ++k)
        product += unit[static_cast<size_t>(i * kSketchInputs + k)] *
                   unit[static_cast<size_t>(j * kSketchInputs + k)];
      s[static_cast<size_t>(i * n + j)] =
          i == j ? 1 : 2 / std::numbers::pi * std::asin(std::fmin(std::fmax(product, -1), 1));
    }
  }
  factorise(s, n);
  constexpr double kHalf = kSketchInputs / 2.0;
  const double mean = std::exp(std::lgamma(kHalf) - std::lgamma(kHalf + 0.5)) / std::sqrt(std::numbers::pi);
  std::vector<double> row(static_cast<size_t>(n));
  for (int64_t i = 0; i < kSketchInputs; ++i) {
    for (int64_t j = 0; j < n; ++j)
      row[static_cast<size_t>(j)] = mean * unit[static_cast<size_t>(j * kSketchInputs + i)];
    solve(s, n, row.data());
    for (int64_t j = 0; j < n; ++j)
      matrix[static_cast<size_t>(i * n + j)] = static_cast<float>(row[static_cast<size_t>(j)]);
  }
}

template <class Fill>
const SketchMatrix& make(Fill fill) {
  auto* matrix = new SketchMatrix;  // for the program's life
  fill(*matrix);
  return *matrix;
}

}  // namespace

const SketchMatrix& sketch_projection() {
  static const SketchMatrix& matrix = make(fill_projection);
  return matrix;
}

const SketchMatrix& sketch_unbiased() {
  static const SketchMatrix& matrix = make([](SketchMatrix& scaled) {
    constexpr float kScale = 1.2533141373155003f / static_cast<float>(kSketchOutputs);
    const SketchMatrix& pi = sketch_projection();
    for (size_t i = 0; i < pi.size(); ++i) scaled[i] = kScale * pi[i];
  });
  return matrix;
}

const SketchMatrix& sketch_least_squares() {
  static const SketchMatrix& matrix = make(fill_least_squares);
  return matrix;
}

void project(const float* x, float* sketch) {
  const SketchMatrix& pi = sketch_projection();
  for (int64_t j = 0; j < kSketchOutputs; ++j) sketch[j] = 0;
  for (int64_t i = 0; i < kSketchInputs; ++i) {
    const float* row = pi.data() + i * kSketchOutputs;
    for (int64_t j = 0; j < kSketchOutputs; ++j) sketch[j] += x[i] * row[j];
  }
}

}  // namespace parlance
