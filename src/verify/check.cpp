#include "verify/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace parlance::verify {

namespace {

// Not a number is the largest error.
void take_error(Check& check, double error) {
  const double known = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  check.max_error = std::max(check.max_error, known);
}

double mean_square_error(const std::vector<float>& got, const std::vector<float>& want) {
  constexpr double kLeast = 1e-30;  // of zeros, what is not zero is infinitely wrong
  double errors = 0, squares = kLeast;
  for (size_t i = 0; i < got.size(); ++i) {
    const auto expected = static_cast<double>(want[i]), error = static_cast<double>(got[i]) - expected;
    errors += error * error;
    squares += expected * expected;
  }
  return errors / squares;
}

}  // namespace

Check& Checks::check_of(const Subject& subject) {
  const auto [found, is_new] = checks_.try_emplace({subject.operation, subject.format});
  if (is_new) found->second = {.subject = subject, .device = device_, .against = against_};
  return found->second;
}

void Checks::compare(const Subject& subject, const std::vector<float>& got, const std::vector<float>& want,
                     double scale) {
  Check& check = check_of(subject);
  if (got.size() != want.size()) {
    check.problem = fmt::format("{} values, expected {}", got.size(), want.size());
    return;
  }
  check.n_values += static_cast<int64_t>(got.size());
  if (subject.unit == Unit::squares) return take_error(check, mean_square_error(got, want));
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i]) continue;  // infinities, too
    const double error = std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i])) / scale;
    take_error(check, error);
  }
}

void Checks::compare(const Subject& subject, const std::vector<std::byte>& got,
                     const std::vector<std::byte>& want) {
  Check& check = check_of(subject);
  if (got.size() != want.size()) {
    check.problem = fmt::format("{} bytes, expected {}", got.size(), want.size());
    return;
  }
  check.n_values += static_cast<int64_t>(got.size());
  for (size_t i = 0; i < got.size(); ++i) check.max_error += got[i] != want[i];
}

void Checks::fail(const Subject& subject, const Error& error) {
  check_of(subject).problem = error.message;
}

std::vector<Check> Checks::take() {
  std::vector<Check> all;
  for (auto& [key, check] : checks_) all.push_back(std::move(check));
  checks_.clear();
  return all;
}

}  // namespace parlance::verify
