#include "support/random_numbers.h"

namespace parlance::test {

void fill_normal(std::mt19937& random, std::span<float> values, float deviation) {
  std::normal_distribution<float> normal(0, deviation);
  for (float& value : values) value = normal(random);
}

std::vector<float> random_floats(std::mt19937& random, int64_t n, float limit) {
  std::vector<float> values(static_cast<size_t>(n));
  std::uniform_real_distribution<float> distribution(-limit, limit);
  for (float& value : values) value = distribution(random);
  return values;
}

}  // namespace parlance::test
