#include "kv/attention_sample.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace parlance {

namespace {

// Elements that are smaller than this share of a head's largest count as that large: what is hardly there would
// otherwise be blown up to any size.
constexpr double kSmallest = 1e-3;

// Of the queries of a sample, those that keys are weighed by.
constexpr int64_t kWeighingQueries = 4;

// The mean of exp(i frequency n) over positions 0 to n_ctx - 1.
std::complex<double> mean_turn(double frequency, int64_t n_ctx) {
  const double half = frequency / 2, n = static_cast<double>(n_ctx);
  if (std::abs(std::sin(half)) < 1e-12) return 1;
  return std::polar(std::sin(n * half) / (n * std::sin(half)), (n - 1) * half);
}

// One head of a sample.
class HeadStatistics {
 public:
  HeadStatistics(const AttentionSample& sample, int64_t head, int64_t n_left_out)
      : sample_(sample), head_(head), n_left_out_(n_left_out) {}

  // What the keys have in common, element by element.
  std::vector<double> shift(std::span<const TurningPair> pairs, int64_t n_ctx) const {
    std::vector<double> shift(static_cast<size_t>(sample_.head_dim_k));
    std::vector<bool> turns(shift.size());
    for (const TurningPair& pair : pairs) {
      std::complex<double> mean;
      for_keys([&](const float* k, int64_t position) {
        mean += std::complex<double>(k[pair.first], k[pair.second]) *
                std::polar(1.0, -pair.frequency * static_cast<double>(position));
      });
      mean *= mean_turn(pair.frequency, n_ctx) / static_cast<double>(std::max<int64_t>(n_used(), 1));
      shift[static_cast<size_t>(pair.first)] = mean.real();
      shift[static_cast<size_t>(pair.second)] = mean.imag();
      turns[static_cast<size_t>(pair.first)] = turns[static_cast<size_t>(pair.second)] = true;
    }
    for (size_t i = 0; i < shift.size(); ++i) {
      if (turns[i]) continue;
      for_keys([&](const float* k, int64_t) { shift[i] += static_cast<double>(k[i]); });
      shift[i] /= static_cast<double>(std::max<int64_t>(n_used(), 1));
    }
    return shift;
  }

  // Mean squares of the elements of keys, half by all keys alike and half by the attention that keys get: errors
  // of those matter most.
  std::vector<double> key_power(const std::vector<double>& shift) const {
    const std::vector<double> attention = attention_of_keys();
    std::vector<double> power(shift.size());
    size_t key = attention.size() - static_cast<size_t>(n_used());
    for_keys([&](const float* k, int64_t) {
      const double weight = (attention[key++] + 1 / static_cast<double>(n_used())) / 2;
      for (size_t i = 0; i < power.size(); ++i)
        power[i] += weight * squared(static_cast<double>(k[i]) - shift[i]);
    });
    return power;
  }
  std::vector<double> query_power() const {
    const int64_t n_shared = sample_.n_head / sample_.n_head_kv;
    std::vector<double> power(static_cast<size_t>(sample_.head_dim_k));
    for (int64_t row = 0; row < sample_.n_queries() * n_shared; ++row) {
      const int64_t head = row / n_shared * sample_.n_head + head_ * n_shared + row % n_shared;
      const float* const q = sample_.q.data() + head * sample_.head_dim_k;
      for (size_t i = 0; i < power.size(); ++i) power[i] += squared(static_cast<double>(q[i]));
    }
    return mean(std::move(power), sample_.n_queries() * n_shared);
  }

 private:
  static double squared(double x) { return x * x; }

  static std::vector<double> mean(std::vector<double> sums, int64_t n) {
    for (double& sum : sums) sum /= static_cast<double>(std::max<int64_t>(n, 1));
    return sums;
  }

  // What some queries pay to each key, which adds up to 1; nothing is paid to those that are left out.
  std::vector<double> attention_of_keys() const {
    const int64_t n = sample_.head_dim_k, n_shared = sample_.n_head / sample_.n_head_kv;
    const float* const keys = sample_.k.data() + head_ * sample_.n_keys() * n;
    std::vector<double> sum(sample_.k_positions.size()), paid(sum.size());
    const int64_t step = std::max<int64_t>(sample_.n_queries() / kWeighingQueries, 1);
    for (int64_t query = step - 1; query < sample_.n_queries(); query += step) {
      for (int64_t head = head_ * n_shared; head < (head_ + 1) * n_shared; ++head) {
        const float* const q = sample_.q.data() + (query * sample_.n_head + head) * n;
        double largest = -HUGE_VAL, total = 0;
        for (size_t key = 0; key < paid.size(); ++key) {
          const float* const k = keys + static_cast<int64_t>(key) * n;
          float score = 0;
          for (int64_t i = 0; i < n; ++i) score += q[i] * k[i];
          paid[key] = sample_.k_positions[key] < n_left_out_ ? -HUGE_VAL
                                                             : static_cast<double>(score * sample_.scale);
          largest = std::max(largest, paid[key]);
        }
        for (double& p : paid) total += p = std::exp(p - largest);
        for (size_t key = 0; key < paid.size(); ++key) sum[key] += paid[key] / total;
      }
    }
    double total = 0;
    for (const double s : sum) total += s;
    for (double& s : sum) s /= std::max(total, 1e-30);
    return sum;
  }

  template <class Visit>
  void for_keys(Visit visit) const {
    const float* k = sample_.k.data() + head_ * sample_.n_keys() * sample_.head_dim_k;
    for (const int64_t position : sample_.k_positions) {
      if (position >= n_left_out_) visit(k, position);
      k += sample_.head_dim_k;
    }
  }
  int64_t n_used() const {
    return std::ranges::count_if(sample_.k_positions, [this](int64_t p) { return p >= n_left_out_; });
  }

  const AttentionSample& sample_;
  int64_t head_, n_left_out_;
};

// Both elements of a pair have the same share of a vector as it turns: their mean is the better estimate.
void share_in_pairs(std::span<const TurningPair> pairs, std::vector<double>& power) {
  for (const TurningPair& pair : pairs) {
    double& a = power[static_cast<size_t>(pair.first)];
    double& b = power[static_cast<size_t>(pair.second)];
    a = b = (a + b) / 2;
  }
}

void raise_smallest(std::vector<double>& power) {
  const double least = kSmallest * kSmallest * std::ranges::max(power);
  for (double& p : power) p = std::max(p, least);
}

}  // namespace

KeyEqualiser equaliser_for(const AttentionSample& sample, std::span<const TurningPair> pairs, int64_t n_ctx,
                           int64_t n_left_out) {
  KeyEqualiser equaliser;
  for (int64_t head = 0; head < sample.n_head_kv; ++head) {
    const HeadStatistics head_statistics(sample, head, n_left_out);
    const std::vector<double> shift = head_statistics.shift(pairs, n_ctx);
    std::vector<double> keys = head_statistics.key_power(shift), queries = head_statistics.query_power();
    for (std::vector<double>* const power : {&keys, &queries}) {
      share_in_pairs(pairs, *power);
      raise_smallest(*power);
    }
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
