#include "kv/key_equalising.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace parlance {

namespace {

// Elements that are smaller than this share of a head's largest count as that large: what is hardly there
// would otherwise be blown up to any size.
constexpr double kSmallest = 1e-3;

// The mean of exp(i frequency n) over positions 0 to n_ctx - 1.
std::complex<double> mean_turn(double frequency, int64_t n_ctx) {
  const double half = frequency / 2, n = static_cast<double>(n_ctx);
  if (std::abs(std::sin(half)) < 1e-12) return 1;
  return std::polar(std::sin(n * half) / (n * std::sin(half)), (n - 1) * half);
}

// One head of keys and values.
class HeadStatistics {
 public:
  HeadStatistics(const SampledHead& head, const KeyTurns& turns)
      : head_(head), n_(static_cast<size_t>(head.sample->head_dim_k)), turns_(turns) {}

  // What the keys have in common, element by element.
  std::vector<double> shift() const {
    std::vector<double> shift(n_);
    std::vector<bool> turns(n_);
    for (size_t i = 0; i < turns_.pairs.size(); ++i) {
      const TurningPair& pair = turns_.pairs[i];
      const std::complex<double>* const turn = turns_.back.data() + i * head_.sample->k_positions.size();
      std::complex<double> mean;
      for_keys([&](const float* k, int64_t key) {
        mean += std::complex<double>(k[pair.first], k[pair.second]) * turn[key];
      });
      mean *= turns_.mean[i] / n_used();
      shift[static_cast<size_t>(pair.first)] = mean.real();
      shift[static_cast<size_t>(pair.second)] = mean.imag();
      turns[static_cast<size_t>(pair.first)] = turns[static_cast<size_t>(pair.second)] = true;
    }
    for (size_t i = 0; i < n_; ++i) {
      if (turns[i]) continue;
      for_keys([&](const float* k, int64_t) { shift[i] += static_cast<double>(k[i]); });
      shift[i] /= n_used();
    }
    return shift;
  }

  // Mean squares of the elements of keys, half by all keys alike and half by the attention that keys get:
  // errors of those matter most.
  std::vector<double> key_power(const std::vector<double>& shift) const {
    const int64_t n_keys = head_.sample->n_keys();
    std::vector<double> attention(static_cast<size_t>(n_keys));
    double all = 0;
    for (int64_t row = 0; row < head_.n_rows; ++row) {
      for (int64_t key = head_.n_first; key < n_keys; ++key) {
        const auto weight = static_cast<double>(head_.weights[static_cast<size_t>(row * n_keys + key)]);
        attention[static_cast<size_t>(key)] += weight;
        all += weight;
      }
    }
    std::vector<double> power(n_);
    for_keys([&](const float* k, int64_t key) {
      const double weight = attention[static_cast<size_t>(key)] / std::max(all, 1e-30) + 1 / n_used();
      for (size_t i = 0; i < n_; ++i) power[i] += weight / 2 * squared(static_cast<double>(k[i]) - shift[i]);
    });
    return evened(std::move(power));
  }

  std::vector<double> query_power() const {
    const AttentionSample& sample = *head_.sample;
    const int64_t n_shared = sample.n_head / sample.n_head_kv;
    std::vector<double> power(n_);
    for (int64_t query = 0; query < sample.n_queries(); ++query) {
      const float* q = sample.q.data() + (query * sample.n_head + head_.head * n_shared) * sample.head_dim_k;
      for (int64_t row = 0; row < n_shared; ++row, q += n_) {
        for (size_t i = 0; i < n_; ++i) power[i] += squared(static_cast<double>(q[i]));
      }
    }
    for (double& p : power) p /= static_cast<double>(std::max<int64_t>(sample.n_queries() * n_shared, 1));
    return evened(std::move(power));
  }

 private:
  static double squared(double x) { return x * x; }

  // Both elements of a pair have the same share of a vector as it turns: their mean is the better estimate.
  // The smallest are raised.
  std::vector<double> evened(std::vector<double> power) const {
    for (const TurningPair& pair : turns_.pairs) {
      double &a = power[static_cast<size_t>(pair.first)], &b = power[static_cast<size_t>(pair.second)];
      a = b = (a + b) / 2;
    }
    const double least = squared(kSmallest) * std::ranges::max(power);
    for (double& p : power) p = std::max(p, least);
    return power;
  }

  template <class Visit>
  void for_keys(Visit visit) const {
    for (int64_t key = head_.n_first; key < head_.sample->n_keys(); ++key)
      visit(head_.k + key * head_.sample->head_dim_k, key);
  }
  double n_used() const {
    return static_cast<double>(std::max<int64_t>(head_.sample->n_keys() - head_.n_first, 1));
  }

  const SampledHead& head_;
  size_t n_;
  const KeyTurns& turns_;
};

}  // namespace

KeyTurns::KeyTurns(std::span<const TurningPair> of, std::span<const int64_t> k_positions, int64_t n_ctx)
    : pairs(of.begin(), of.end()) {
  for (const TurningPair& pair : pairs) {
    for (const int64_t position : k_positions)
      back.push_back(std::polar(1.0, -pair.frequency * static_cast<double>(position)));
    mean.push_back(mean_turn(pair.frequency, n_ctx));
  }
}

KeyEqualiser equaliser_for(std::span<const SampledHead> heads, const KeyTurns& turns) {
  KeyEqualiser equaliser;
  for (const SampledHead& head : heads) {
    const HeadStatistics statistics(head, turns);
    const std::vector<double> shift = statistics.shift();
    const std::vector<double> keys = statistics.key_power(shift), queries = statistics.query_power();
    for (size_t i = 0; i < shift.size(); ++i) {
      const double scale = std::pow(queries[i] / keys[i], 0.25);
      const bool is_number = std::isfinite(shift[i]) && std::isfinite(scale) && scale > 0;
      equaliser.shift.push_back(is_number ? static_cast<float>(shift[i]) : 0);
      equaliser.scale.push_back(is_number ? static_cast<float>(scale) : 1);
    }
  }
  return equaliser;
}

}  // namespace parlance
