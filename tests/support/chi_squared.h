// Pearson's test whether counts are of a distribution, or of the same one as others.
#pragma once

#include <cmath>
#include <map>
#include <vector>

namespace parlance::test {

// The share of samples of the true distribution whose chi-squared would be larger: the regularised upper
// incomplete gamma function Q(n_free / 2, x / 2), by its series or its continued fraction (Lentz).
inline double chi_squared_tail(double x, int n_free) {
  const double a = n_free / 2.0, z = x / 2;
  if (n_free <= 0 || z <= 0) return 1;
  const double front = std::exp(a * std::log(z) - z - std::lgamma(a));
  if (z < a + 1) {
    double term = 1 / a, sum = term;
    for (double n = a + 1; term > sum * 1e-15; ++n) sum += term *= z / n;
    return 1 - front * sum;
  }
  constexpr double kTiny = 1e-300;
  double b = z + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int i = 1; i < 10000; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = 1 / (std::fabs(an * d + b) < kTiny ? kTiny : an * d + b);
    c = std::fabs(b + an / c) < kTiny ? kTiny : b + an / c;
    h *= c * d;
    if (std::fabs(c * d - 1) < 1e-14) break;
  }
  return front * h;
}

template <class Key>
using Counts = std::map<Key, double>;

// How likely counts at least as far from `expected` shares (which add up to 1) are. What is expected less
// than 8 times counts as one cell.
template <class Key>
double p_value(const Counts<Key>& counts, const Counts<Key>& expected) {
  double total = 0, seen = 0, chi_squared = 0, rare = 0, rare_seen = 0;
  for (const auto& [key, n] : counts) total += n;
  int n_cells = 0;
  const auto add = [&](double n, double wanted) {
    chi_squared += (n - wanted) * (n - wanted) / wanted;
    ++n_cells;
  };
  for (const auto& [key, share] : expected) {
    const auto found = counts.find(key);
    const double n = found == counts.end() ? 0 : found->second, wanted = share * total;
    seen += n;
    if (wanted < 8) {
      rare += wanted;
      rare_seen += n;
    } else {
      add(n, wanted);
    }
  }
  if (seen < total) return 0;  // something came that never should
  if (rare > 0) add(rare_seen, rare);
  return chi_squared_tail(chi_squared, n_cells - 1);
}

// How likely two sets of counts at least as unlike are, where both are of one distribution.
template <class Key>
double p_value_of_two(const Counts<Key>& a, const Counts<Key>& b) {
  Counts<Key> both = a;
  double total_a = 0, total_b = 0;
  for (const auto& [key, n] : a) total_a += n;
  for (const auto& [key, n] : b) {
    both[key] += n;
    total_b += n;
  }
  double chi_squared = 0, rare_a = 0, rare_b = 0;
  int n_cells = 0;
  const auto add = [&](double n_a, double n_b) {
    const double share = (n_a + n_b) / (total_a + total_b);
    if (share == 0) return;
    chi_squared += (n_a - share * total_a) * (n_a - share * total_a) / (share * total_a) +
                   (n_b - share * total_b) * (n_b - share * total_b) / (share * total_b);
    ++n_cells;
  };
  for (const auto& [key, n] : both) {
    const double n_a = a.contains(key) ? a.at(key) : 0, n_b = b.contains(key) ? b.at(key) : 0;
    if (n < 16) {
      rare_a += n_a;
      rare_b += n_b;
    } else {
      add(n_a, n_b);
    }
  }
  add(rare_a, rare_b);
  return chi_squared_tail(chi_squared, n_cells - 1);
}

}  // namespace parlance::test
