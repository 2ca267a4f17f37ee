#include "echo/echo_reference.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace parlance {

namespace {

constexpr size_t kShifts = 64;  // of a sample; between these, kernels are interpolated
constexpr size_t kTaps = 2 * EchoReference::kAhead;

}  // namespace

EchoReference::EchoReference(size_t n_frames_back)
    : past_(kMostLag + kTaps + (n_frames_back + 1) * kEchoFrame) {
  for (size_t shift = 0; shift <= kShifts; ++shift) {
    for (size_t tap = 0; tap < kTaps; ++tap) {
      const double x = static_cast<double>(tap) - static_cast<double>(kAhead - 1) -
                       static_cast<double>(shift) / static_cast<double>(kShifts);
      const double turn = std::numbers::pi * x;
      const double window = 0.5 + 0.5 * std::cos(turn / static_cast<double>(kAhead));
      const bool is_inside = std::abs(x) < static_cast<double>(kAhead);
      kernels_.push_back(static_cast<float>(!is_inside              ? 0
                                            : std::abs(turn) < 1e-9 ? 1
                                                                    : window * std::sin(turn) / turn));
    }
  }
}

void EchoReference::push(std::span<const float> frame) {
  std::shift_left(past_.begin(), past_.end(), kEchoFrame);
  std::ranges::copy(frame, past_.end() - kEchoFrame);
}

void EchoReference::amend(std::span<const float> samples, size_t n_ago) {
  const size_t n_gone = n_ago - std::min(n_ago, past_.size()), n = std::min(samples.size(), n_ago);
  if (n <= n_gone) return;
  std::ranges::copy(samples.first(n).subspan(n_gone),
                    past_.end() - static_cast<std::ptrdiff_t>(n_ago - n_gone));
}

void EchoReference::read(size_t n_back, double lag, double growth, std::span<float> out) const {
  const auto first = static_cast<double>(past_.size() - (n_back + 1) * kEchoFrame);
  for (size_t i = 0; i < kEchoFrame; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(kEchoFrame);
    const double late =
        std::clamp(lag + growth * share, static_cast<double>(kAhead), static_cast<double>(kMostLag));
    const double at = first + static_cast<double>(i) - late;
    const auto whole = static_cast<size_t>(at);
    const double shift = (at - static_cast<double>(whole)) * static_cast<double>(kShifts);
    const auto kernel = static_cast<size_t>(shift);
    const auto part = static_cast<float>(shift - static_cast<double>(kernel));
    const float* const low = kernels_.data() + kernel * kTaps;
    const float* const high = low + kTaps;
    const float* const x = past_.data() + whole - (kAhead - 1);
    float sum = 0;
    for (size_t tap = 0; tap < kTaps; ++tap) sum += x[tap] * (low[tap] + part * (high[tap] - low[tap]));
    out[i] = sum;
  }
}

}  // namespace parlance
