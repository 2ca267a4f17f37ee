// The self-test of elizaOS's verify harness: one pair of random vectors, the score of the one with the other
// in each of its formats, and figures that were published for them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "verify/harness.h"
#include "verify/operations.h"

namespace parlance::verify {

struct Figure {
  HarnessFormat format;
  std::string found;           // to the digits of
  std::string_view published;  // "-2.501480"
};

// Two ways to the same number.
struct Parity {
  std::string name;
  double difference;
  double tolerance;
};

// What a cache format of this program makes of the pair.
struct RuntimeScore {
  KvFormat format;
  float score;
};

struct SelfTest {
  float exact;  // q . x
  std::vector<Figure> figures;
  std::vector<Parity> parities;
  std::vector<RuntimeScore> runtime;

  bool has_passed() const;
};

// The scores of cache formats are those of the device's mul_mv.
Result<SelfTest> run_self_test(const TestedDevice& tested);

}  // namespace parlance::verify
