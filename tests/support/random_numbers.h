// Random numbers by the hundred thousand, for tests of kernels: compiled with more optimisation than tests
// are.
#pragma once

#include <random>
#include <span>
#include <vector>

namespace parlance::test {

void fill_normal(std::mt19937& random, std::span<float> values, float deviation = 1);

// Uniform in [-limit, limit).
std::vector<float> random_floats(std::mt19937& random, int64_t n, float limit = 1);

}  // namespace parlance::test
